// A network of two layers for tests of optimizers, and its loss.
#pragma once

#include "graph/functions/reducing/element_losses.h"
#include "models/layers/gradients.h"
#include "models/layers/layers.h"
#include "tests/tensors.h"

namespace tilewright {

struct SmallNetwork : Module {
  Linear first{6, 5}, second{5, 1};
  SmallNetwork() {
    register_module("first", first);
    register_module("second", second);
    first.weight.copy_from(ramp({5, 6}, 0.02F));
    first.bias.copy_from(ramp({5}, 0.01F));
    second.weight.copy_from(ramp({1, 5}, 0.1F));
    second.bias.copy_from(ramp({1}));
  }
  Tensor forward(const Tensor& x) const { return second(tanh(first(x))); }
  Tensor loss(const Tensor& x, const Tensor& y) const { return mse_loss(forward(x).to(f32), y); }
  std::pair<Tensor, NamedTensors> gradients(const Tensor& x, const Tensor& y) {
    return value_and_grad(*this, [this](const Tensor& a, const Tensor& b) { return loss(a, b); })(
        x, y);
  }
};

}  // namespace tilewright
