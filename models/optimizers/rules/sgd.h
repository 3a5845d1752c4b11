// Gradient descent with momentum, as torch.optim.SGD.
//
//   v = momentum v + (1 - dampening) g,  v = g in the first step;  x = x - lr v
//
// With Nesterov's momentum x - lr (g + momentum v). Weight decay is added to the gradient. Without
// momentum there is no buffer, and the setting "momentum" is not there to be set.
#pragma once

#include "models/optimizers/optimizer.h"
#include "runtime/base/error.h"

namespace tilewright {

struct SgdOptions {
  static constexpr const char* name = "SGD";
  static constexpr bool saves_step = false;
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  StatePrecision precision = {};

  void check() const {
    require(!nesterov || (momentum > 0 && dampening == 0), "[SGD] nesterov with momentum ",
            momentum, " and dampening ", dampening,
            "; it needs a momentum above 0 and no dampening");
  }
  std::vector<OptimizerSetting> settings() const {
    std::vector<OptimizerSetting> all = {{"lr", lr}, {"weight_decay", weight_decay}};
    if (momentum != 0) all.insert(all.end(), {{"momentum", momentum}, {"dampening", dampening}});
    return all;
  }
  std::vector<StateTensor> states(const Shape&) const {
    if (momentum == 0) return {};
    return {{"momentum_buffer"}};
  }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor g = at.gradient + at["weight_decay"] * at.parameter;
    if (momentum == 0) return at.parameter - at["lr"] * g;
    const Tensor moved = at["momentum"] * at.state("momentum_buffer") + (1 - at["dampening"]) * g;
    const Tensor v = at.store("momentum_buffer", where(at.step() == 1.0, g, moved));
    return at.parameter - at["lr"] * (nesterov ? g + at["momentum"] * v : v);
  }
};
using Sgd = OptimizerBy<SgdOptions>;

}  // namespace tilewright
