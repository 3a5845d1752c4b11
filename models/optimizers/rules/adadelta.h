// Adadelta (Zeiler, 2012), as torch.optim.Adadelta.
//
//   v = rho v + (1 - rho) g^2,  d = sqrt(u + eps) / sqrt(v + eps) g,  u = rho u + (1 - rho) d^2
//   x = x - lr d
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct AdadeltaOptions {
  static constexpr const char* name = "Adadelta";
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return {{"lr", lr},
            {.name = "rho", .value = rho, .most = 1},
            {"eps", eps},
            {"weight_decay", weight_decay}};
  }
  std::vector<StateTensor> states(const Shape&) const { return {{"square_avg"}, {"acc_delta"}}; }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = at.gradient + at["weight_decay"] * at.parameter, rest = 1 - at["rho"];
    const Tensor square =
        at.store("square_avg", at["rho"] * at.state("square_avg") + rest * (g * g));
    const Tensor changes = at.state("acc_delta");
    const Tensor change = sqrt(changes + at["eps"]) / sqrt(square + at["eps"]) * g;
    at.store("acc_delta", at["rho"] * changes + rest * (change * change));
    return at.parameter - at["lr"] * change;
  }
};
using Adadelta = OptimizerBy<AdadeltaOptions>;

}  // namespace tilewright
