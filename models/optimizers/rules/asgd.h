// Averaged gradient descent (Polyak and Juditsky, 1992), as torch.optim.ASGD.
//
//   x = x (1 - lambd eta) - eta g,  eta = lr / (1 + lambd lr t)^alpha after step t
//
// "ax" of the state is the average of the parameter over the steps after `t0`.
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct AsgdOptions {
  static constexpr const char* name = "ASGD";
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateScalar> scalars() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Asgd = OptimizerBy<AsgdOptions>;

}  // namespace tilewright
