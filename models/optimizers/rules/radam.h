// RAdam (Liu et al., 2020), Adam without its second moment as long as that is of few gradients, as
// torch.optim.RAdam.
//
// With r = 2 / (1 - beta2) - 1 and r_t = r - 2 t beta2^t / (1 - beta2^t), the length of the average
// of squares, the step is lr m / (1 - beta1^t) times, where r_t > 5, the rectification
// sqrt((r_t - 4) (r_t - 2) r / ((r - 4) (r - 2) r_t)) sqrt(1 - beta2^t) / (sqrt(v) + eps).
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct RAdamOptions {
  static constexpr const char* name = "RAdam";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0;
  bool decoupled_weight_decay = false, maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using RAdam = OptimizerBy<RAdamOptions>;

}  // namespace tilewright
