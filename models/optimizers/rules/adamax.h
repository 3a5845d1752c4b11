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

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Adamax = OptimizerBy<AdamaxOptions>;

}  // namespace tilewright
