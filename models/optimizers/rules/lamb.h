// LAMB (You et al., 2020), algorithm 2 with the identity as phi: Adam's step, scaled in each layer
// to the norm of the parameter.
//
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay x;  x = x - lr |x| / |u|
//   u
//
// m and v are Adam's. The quotient of norms is 1 where one of them is 0.
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct LambOptions {
  static constexpr const char* name = "LAMB";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-6, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return detail::adam_settings(lr, betas, eps, weight_decay);
  }
  std::vector<StateTensor> states(const Shape&) const { return detail::adam_states(false); }
  void prepare(GroupUpdate& at) const {
    at.give("correction1", 1 - pow(at["beta1"], at.step()));
    at.give("correction2", 1 - pow(at["beta2"], at.step()));
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor mean = detail::next_mean(at, at.gradient) / at["correction1"],
                 square = detail::next_square(at, at.gradient) / at["correction2"];
    const Tensor change = mean / (sqrt(square) + at["eps"]) + at["weight_decay"] * at.parameter;
    const Tensor size = sqrt(sum(at.parameter * at.parameter)), length = sqrt(sum(change * change));
    const Tensor trust = where((size > 0.0) & (length > 0.0), size / length, 1.0);
    return at.parameter - at["lr"] * trust * change;
  }
};
using Lamb = OptimizerBy<LambOptions>;

}  // namespace tilewright
