// Lion (Chen et al., 2023), algorithm 2: the sign of a moving average is the step.
//
//   x = x - lr (sign(beta1 m + (1 - beta1) g) + weight_decay x),  m = beta2 m + (1 - beta2) g
#pragma once

#include "graph/functions/pointwise/arithmetic.h"
#include "models/optimizers/optimizer.h"

namespace tilewright {

struct LionOptions {
  static constexpr const char* name = "Lion";
  static constexpr bool saves_step = false;
  double lr = 1e-4;
  Betas betas = {0.9, 0.99};
  double weight_decay = 0;
  bool maximize = false;
  StatePrecision precision = {};

  std::vector<OptimizerSetting> settings() const {
    return {{"lr", lr},
            {"beta1", betas.first, 0, 1},
            {"beta2", betas.second, 0, 1},
            {"weight_decay", weight_decay}};
  }
  std::vector<StateTensor> states(const Shape&) const { return {{"exp_avg"}}; }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor mean = at.state("exp_avg"), &g = at.gradient;
    const Tensor direction = sign(at["beta1"] * mean + (1 - at["beta1"]) * g);
    at.store("exp_avg", at["beta2"] * mean + (1 - at["beta2"]) * g);
    return at.parameter - at["lr"] * (direction + at["weight_decay"] * at.parameter);
  }
};
using Lion = OptimizerBy<LionOptions>;

}  // namespace tilewright
