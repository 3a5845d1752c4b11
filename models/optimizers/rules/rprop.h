// Resilient backpropagation (Riedmiller and Braun, 1993), as torch.optim.Rprop: only the signs of
// gradients count. The step of an element grows by the second eta while its gradient keeps its
// sign, shrinks by the first where that changes, and then waits for one step. `lr` is the first
// step of each element, and nothing later.
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct RpropOptions {
  static constexpr const char* name = "Rprop";
  struct Etas {
    double shrink = 0.5, grow = 1.2;
  };
  struct StepSizes {
    double least = 1e-6, most = 50;
  };
  double lr = 1e-2;
  Etas etas = {};
  StepSizes step_sizes = {};
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Rprop = OptimizerBy<RpropOptions>;

}  // namespace tilewright
