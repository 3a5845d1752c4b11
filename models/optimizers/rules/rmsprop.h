// RMSprop (Hinton, 2012), as torch.optim.RMSprop.
//
//   v = alpha v + (1 - alpha) g^2;  x = x - lr g / (sqrt(v) + eps)
//
// Centred, v is less the square of the mean gradient; with momentum, the quotients are summed up in
// a buffer b = momentum b + g / (..), and x = x - lr b. Without momentum there is no buffer, and no
// setting "momentum".
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct RmsPropOptions {
  static constexpr const char* name = "RMSprop";
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  Tensor update(const ParameterUpdate& at) const;
};
using RmsProp = OptimizerBy<RmsPropOptions>;

}  // namespace tilewright
