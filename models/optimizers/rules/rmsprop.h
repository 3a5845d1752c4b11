// RMSprop (Hinton, 2012), as torch.optim.RMSprop.
//
//   v = alpha v + (1 - alpha) g^2;  x = x - lr g / (sqrt(v) + eps)
//
// Centred, v is less the square of the mean gradient; with momentum, the quotients are summed up in
// a buffer b = momentum b + g / (..), and x = x - lr b. Without momentum there is no buffer, and no
// setting "momentum".
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct RmsPropOptions {
  static constexpr const char* name = "RMSprop";
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;

  std::vector<OptimizerSetting> settings() const {
    std::vector<OptimizerSetting> all = {
        {"lr", lr}, {"alpha", alpha}, {"eps", eps}, {"weight_decay", weight_decay}};
    if (momentum != 0) all.push_back({"momentum", momentum});
    return all;
  }
  std::vector<StateTensor> states(const Shape&) const {
    std::vector<StateTensor> all = {{"square_avg"}};
    if (centered) all.push_back({"grad_avg"});
    if (momentum != 0) all.push_back({"momentum_buffer"});
    return all;
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = at.gradient + at["weight_decay"] * at.parameter, rest = 1 - at["alpha"];
    Tensor square = at.store("square_avg", at["alpha"] * at.state("square_avg") + rest * (g * g));
    if (centered) {
      const Tensor former = at.state("grad_avg"),
                   mean = at.store("grad_avg", former + rest * (g - former));
      square = square - mean * mean;
    }
    const Tensor ratio = g / (sqrt(square) + at["eps"]);
    if (momentum == 0) return at.parameter - at["lr"] * ratio;
    const Tensor sum = at["momentum"] * at.state("momentum_buffer") + ratio;
    return at.parameter - at["lr"] * at.store("momentum_buffer", sum);
  }
};
using RmsProp = OptimizerBy<RmsPropOptions>;

}  // namespace tilewright
