// Adagrad (Duchi, Hazan and Singer, 2011), as torch.optim.Adagrad.
//
//   s = s + g^2;  x = x - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)
#pragma once

#include "models/optimizers/optimizer.h"
#include "runtime/base/error.h"

namespace tilewright {

struct AdagradOptions {
  static constexpr const char* name = "Adagrad";
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
  bool maximize = false;

  void check() const {
    require(initial_accumulator_value >= 0, "[Adagrad] initial_accumulator_value is ",
            initial_accumulator_value, "; it must be at least 0");
  }
  std::vector<OptimizerSetting> settings() const {
    return {{"lr", lr}, {"lr_decay", lr_decay}, {"weight_decay", weight_decay}, {"eps", eps}};
  }
  std::vector<StateTensor> states(const Shape&) const {
    return {{"sum", initial_accumulator_value}};
  }
  void prepare(GroupUpdate& at) const {
    at.give("rate", at["lr"] / (1 + (at.step() - 1.0) * at["lr_decay"]));
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = at.gradient + at["weight_decay"] * at.parameter;
    const Tensor sum = at.store("sum", at.state("sum") + g * g);
    return at.parameter - at["rate"] * (g / (sqrt(sum) + at["eps"]));
  }
};
using Adagrad = OptimizerBy<AdagradOptions>;

}  // namespace tilewright
