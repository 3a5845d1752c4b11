// Adamax (Kingma and Ba, 2015), Adam with the greatest magnitude in place of the mean square, as
// torch.optim.Adamax.
//
//   m = beta1 m + (1 - beta1) g,  u = max(beta2 u, |g| + eps);  x = x - lr / (1 - beta1^t) m / u
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct AdamaxOptions {
  static constexpr const char* name = "Adamax";
  double lr = 2e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return detail::adam_settings(lr, betas, eps, weight_decay);
  }
  std::vector<StateTensor> states(const Shape&) const { return {{"exp_avg"}, {"exp_inf"}}; }
  void prepare(GroupUpdate& at) const {
    at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = detail::decayed(at, false).gradient, mean = detail::next_mean(at, g);
    const Tensor most =
        at.store("exp_inf", maximum(at["beta2"] * at.state("exp_inf"), abs(g) + at["eps"]));
    return at.parameter - at["step_size"] * (mean / most);
  }
};
using Adamax = OptimizerBy<AdamaxOptions>;

}  // namespace tilewright
