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

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Lamb = OptimizerBy<LambOptions>;

}  // namespace tilewright
