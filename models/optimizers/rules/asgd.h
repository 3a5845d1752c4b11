// Averaged gradient descent (Polyak and Juditsky, 1992), as torch.optim.ASGD.
//
//   x = x (1 - lambd eta) - eta g,  eta = lr / (1 + lambd lr t)^alpha after step t
//
// "ax" of the state is the average of the parameter over the steps after `t0`.
#pragma once

#include "graph/functions/pointwise/elementary.h"
#include "models/optimizers/optimizer.h"

namespace tilewright {

struct AsgdOptions {
  static constexpr const char* name = "ASGD";
  double lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return {
        {"lr", lr}, {"lambd", lambd}, {"alpha", alpha}, {"t0", t0}, {"weight_decay", weight_decay}};
  }
  std::vector<StateScalar> scalars() const { return {{"eta", lr}, {"mu", 1}}; }
  std::vector<StateTensor> states(const Shape&) const { return {{"ax"}}; }
  void prepare(GroupUpdate& at) const {
    at.store("eta", at["lr"] / pow(1 + at["lambd"] * at["lr"] * at.step(), at["alpha"]));
    at.store("mu", 1 / maximum(at.step() - at["t0"], 1.0));
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = at.gradient + at["weight_decay"] * at.parameter;
    const Tensor next = at.parameter * (1 - at["lambd"] * at["eta"]) - at["eta"] * g;
    const Tensor average = at.state("ax");
    at.store("ax", where(at["mu"] == 1.0, next, average + at["mu"] * (next - average)));
    return next;
  }
};
using Asgd = OptimizerBy<AsgdOptions>;

}  // namespace tilewright
