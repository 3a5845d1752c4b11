// The gradients of a program for `run --gradients`: which of them, from which cotangents in the
// file of inputs, and the names that they have in files.
#pragma once

#include <string>
#include <vector>

#include "models/programs/program_gradients.h"

namespace tilewright::tools {

// The inputs "in.K" and the parameters "param.NAME" of the list, which has commas between them; an
// empty list is all that are floating. Raises `Misuse` for a name that is none of them, and where
// there are none.
ProgramVariables variables_of(ProgramModule& model, const std::string& list);

// The tensors cotangent.0, cotangent.1, ... of a safetensors file, undefined where one is missing.
// Raises `Error` for the cotangent of an output that the program does not have.
std::vector<Tensor> read_cotangents(const ProgramModule& model, const std::string& path,
                                    const Device& device);

// The tensors direction.in.K and direction.param.NAME of the file, by the variables, undefined
// where one is missing. Raises `Error` for the direction of anything else.
std::vector<Tensor> read_directions(const ProgramVariables& variables, const std::string& path,
                                    const Device& device);

// Tensors with their names in files: "out.0", "grad.in.0", "grad.param.NAME", "second.in.0".
struct NamedResult {
  std::string name;
  Tensor tensor;
};
std::vector<NamedResult> named_outputs(const std::vector<Tensor>& outputs);
// `all`: the outputs, then the gradients of these inputs and parameters, and their second gradients
// if `has_second`.
std::vector<NamedResult> named_gradients(const std::vector<Tensor>& all,
                                         const ProgramVariables& variables, bool has_second);

}  // namespace tilewright::tools
