// The gradients of functions of an operand, a weight and a bias: which of them are wanted, and what
// comes of that. Training seldom wants all, and at once, outside of compiled functions, each costs
// kernels of its own.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

struct WantedGradients {
  bool x = true, weight = true, bias = true;
};
// Undefined where it was not wanted.
struct OperandGradients {
  Tensor x, weight, bias;
};

}  // namespace tilewright
