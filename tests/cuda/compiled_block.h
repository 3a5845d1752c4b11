// A function of several regions, and the modes in which it is compiled.
#pragma once

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::testing_cuda {

// Compiles to several regions, with values between them.
struct Block {
  Tensor first = ramp({48, 32}), second = ramp({32, 48}, 0.02F);
  Tensor forward(const Tensor& x) const {
    Tensor h = linear(layer_norm(x), first);
    return softmax(linear(relu(h), second) + x, -1);
  }
  Block on(const Device& device) const { return {first.to(device), second.to(device)}; }
};

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

}  // namespace tilewright::testing_cuda
