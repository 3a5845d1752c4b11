// NAdam (Dozat, 2016), Adam with Nesterov's momentum, as torch.optim.NAdam.
//
//   mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2),  p = mu_1 .. mu_t
//   x = x - lr ((1 - mu_t) / (1 - p) g + mu_t+1 / (1 - p mu_t+1) m) / (sqrt(v / (1 - beta2^t)) +
//   eps)
//
// m and v are Adam's.
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct NAdamOptions {
  static constexpr const char* name = "NAdam";
  double lr = 2e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled_weight_decay = false, maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateScalar> scalars() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using NAdam = OptimizerBy<NAdamOptions>;

}  // namespace tilewright
