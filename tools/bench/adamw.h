// AdamW (Loshchilov and Hutter 2019) as a function on tensors, and the tensors of a model for it.
#pragma once

#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::tools {

struct AdamwState {
  Tensor parameter, gradient, first, second;  // the last two: moments
};

// One step in place. `corrections` f32 [2]: 1 - beta^t of either moment, on the device, for they
// change every step.
void adamw(AdamwState& state, const Tensor& corrections);

// The shapes of the 148 parameters of GPT-2 124M.
std::vector<Shape> gpt2_parameter_shapes();

}  // namespace tilewright::tools
