// A foreign program as a module of this library: named inputs and outputs, axes whose sizes may
// differ, and operators that are known or not.
//
// Shared by programs of different formats (models/exported, models/onnx).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/layers/module.h"

namespace tilewright {

// An axis of an input whose size may differ from call to call, by the program.
struct DynamicAxis {
  int axis;
  std::string size;       // as the program calls it, "s27" or "2 * s27"
  std::int64_t min, max;  // both included; of the symbol
};
// An input that is an integer to the program, and here a tensor of i64 without axes.
struct IntegerRange {
  std::string size;       // as the program calls it, "s16"
  std::int64_t min, max;  // both included; of the symbol
};
struct ProgramInput {
  std::string name;  // of the parameter of forward(), nested ones joined
  DType dtype;
  Shape shape;  // -1 where the size may differ
  std::vector<DynamicAxis> dynamic;
  std::optional<IntegerRange> integer = {};
};
// An operator of a program.
struct ProgramOperator {
  std::string name;  // "aten.add.Tensor", "Gemm"
  std::int64_t count;
  bool is_known;
  std::string source;  // where it occurs first: a line of the model, "modeling_bert.py:82", or a
                       // node's name
};

// Not thread safe with itself where the program writes to buffers; otherwise as any Module.
class ProgramModule : public Module {
 public:
  virtual const std::vector<ProgramInput>& inputs() const = 0;
  virtual const std::vector<std::string>& outputs() const = 0;  // names in the program
  virtual const std::vector<ProgramOperator>& operators() const = 0;

  // The program's outputs for its inputs, in their order. Raises `Error` for another number of
  // inputs, another dtype or rank, and a size that the program does not allow, which names the
  // input, the axis, the size and the range; errors of operators name the node and its source.
  // Integer inputs are read: inside compile() the graph breaks there, and the rest is compiled for
  // each integer that decides a size, and once for all others.
  virtual std::vector<Tensor> forward(const std::vector<Tensor>& inputs) const = 0;
  // The same with tensors in place of the parameters of these names; the others are the module's
  // own. So a program is a function of its parameters, with a gradient by each, for training:
  //
  //   using Parameters = std::map<std::string, Tensor>;
  //   auto loss = [&](const Parameters& p, const Tensor& x, const Tensor& y) {
  //     return mse_loss(model->forward_with(p, {x})[0], y);
  //   };
  //   Parameters p = differentiable_parameters(*model);  // models/layers/gradients.h
  //   auto [value, gradients] = value_and_grad(loss)(p, x, y);
  //
  // Parameters that share their memory in the file are separate here. Raises `Error` also for a
  // name that is no parameter, and for a tensor of another dtype or shape than the parameter's.
  virtual std::vector<Tensor> forward_with(const std::map<std::string, Tensor>& parameters,
                                           const std::vector<Tensor>& inputs) const = 0;

  // Declares the sizes that may differ (mark_dynamic) on example inputs, so that a compiled
  // function is made for all of them at its first call.
  virtual void mark_dynamic_sizes(const std::vector<Tensor>& inputs) const = 0;

  // A program computes in the mode in which it was exported. Raises `Error` where another one is
  // asked for: `eval()` of a program with operators that compute as in training (dropout,
  // statistics of the batch), and `train()` of a program without any.
  void train(bool is_training = true) override;

 protected:
  // The first operator that computes as in training, for messages; empty if there is none.
  virtual std::string training_operator() const = 0;
  virtual const std::string& file() const = 0;
};

// A summary of a file's program, even if some of its operators are unknown.
struct ProgramSummary {
  std::vector<ProgramInput> inputs;
  std::vector<std::string> outputs;
  std::vector<ProgramOperator> operators;  // the most frequent first
  std::int64_t nodes, parameters, parameter_bytes;
  std::string producer;  // with its version, "PyTorch 2.9.0"
};

}  // namespace tilewright
