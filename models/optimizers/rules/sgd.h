// Gradient descent with momentum, as torch.optim.SGD.
//
//   v = momentum v + (1 - dampening) g,  v = g in the first step;  x = x - lr v
//
// With Nesterov's momentum x - lr (g + momentum v). Weight decay is added to the gradient. Without
// momentum there is no buffer, and the setting "momentum" is not there to be set.
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct SgdOptions {
  static constexpr const char* name = "SGD";
  static constexpr bool saves_step = false;
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  StatePrecision precision = {};

  void check() const;
  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Sgd = OptimizerBy<SgdOptions>;

}  // namespace tilewright
