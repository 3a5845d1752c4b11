// Small steps of training, whose memory and gradients are looked at.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing_steps {

using Tensors = std::vector<Tensor>;

// Each has a loss of parameters and data, with state of its own: a new one draws the same numbers.
struct StepProgram {
  std::string name;
  Tensors parameters, data;
  std::function<Tensor(const Tensors& parameters, const Tensors& data)> loss;

  // The loss and the gradients of all parameters; data are the arguments.
  std::function<Tensors(const Tensors& data)> gradients() const;
  // A step of gradient descent, which writes the parameters in place and gives the loss.
  std::function<Tensors(const Tensors& data)> descent() const;
};

StepProgram mlp();   // four layers of tanh
StepProgram cnn();   // convolutions, a norm over the batch, pools
StepProgram gpt();   // three blocks of a transformer of characters, with dropout
StepProgram lstm();  // a recurrent layer as a scan
std::vector<StepProgram> step_programs();

}  // namespace tilewright::testing_steps
