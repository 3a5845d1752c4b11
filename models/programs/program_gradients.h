// The gradients of a loaded program (.pt2, .onnx) by its inputs and parameters, from those of its
// outputs.
//
//   const ProgramVariables all = differentiable_variables(*model);
//   ProgramGradients g = program_gradients(*model, {x}, {}, all);  // of the sum of its outputs
//   Tensor by_input = g.inputs.at(0), by_weight = g.parameters.at("encoder.weight");
//
// A loss that is written in C++ is differentiated by value_and_grad (graph/differentiating) and
// forward_with (models/programs/program_module.h), or by the parameters alone with
// models/layers/gradients.h. All of these work at once and inside compile().
//
// Inputs that the program writes in place keep their values, and its buffers (running statistics)
// are written once. Where a program reads values of tensors on the host (integer inputs, sizes that
// depend on data), the graph of a compiled call breaks. A loop without a fixed number of turns has
// no gradient: an Error.
#pragma once

#include <cstddef>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/programs/program_module.h"

namespace tilewright {

// Inputs by their numbers, parameters by their names.
struct ProgramVariables {
  std::vector<std::size_t> inputs;
  std::vector<std::string> parameters;
};
// All inputs and parameters that are floating.
ProgramVariables differentiable_variables(ProgramModule& model);

struct ProgramGradients {
  std::vector<Tensor> outputs;
  std::map<std::size_t, Tensor> inputs;
  std::map<std::string, Tensor> parameters;
};

// `cotangents` are the gradients of the outputs, in their order, each like its output. One that is
// undefined or left out at the end is 1 for each element of a floating output; outputs that are not
// floating have none. A variable on which no output depends has zeros. Raises `Error` for a
// variable that the program does not have or that is not floating, where no output is floating, and
// for what `forward` refuses.
ProgramGradients program_gradients(ProgramModule& model, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& cotangents,
                                   const ProgramVariables& variables,
                                   std::source_location w = std::source_location::current());

// The gradients, by the same variables, of the sum of those gradients times `directions`: the
// product of the second derivative with a direction. `directions` are by the variables, inputs
// first, each like its variable; one that is undefined or left out at the end is 1 for each
// element. `outputs` are the first gradients, in the order of the variables. Raises `Error` as
// above, and where an operation's gradient has no gradient itself.
ProgramGradients program_second_gradients(ProgramModule& model, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& cotangents,
                                          const ProgramVariables& variables,
                                          const std::vector<Tensor>& directions,
                                          std::source_location w = std::source_location::current());

}  // namespace tilewright
