#include "models/optimizers/rules/sgd.h"

#include "runtime/base/error.h"

namespace tilewright {

void SgdOptions::check() const {
  require(!nesterov || (momentum > 0 && dampening == 0), "[SGD] nesterov with momentum ", momentum,
          " and dampening ", dampening, "; it needs a momentum above 0 and no dampening");
}

std::vector<OptimizerSetting> SgdOptions::settings() const {
  std::vector<OptimizerSetting> all = {{"lr", lr}, {"weight_decay", weight_decay}};
  if (momentum != 0) all.insert(all.end(), {{"momentum", momentum}, {"dampening", dampening}});
  return all;
}

std::vector<StateTensor> SgdOptions::states(const Shape&) const {
  if (momentum == 0) return {};
  return {{"momentum_buffer"}};
}

Tensor SgdOptions::update(const ParameterUpdate& at) const {
  const Tensor g = at.gradient + at["weight_decay"] * at.parameter;
  if (momentum == 0) return at.parameter - at["lr"] * g;
  const Tensor moved = at["momentum"] * at.state("momentum_buffer") + (1 - at["dampening"]) * g;
  const Tensor v = at.store("momentum_buffer", where(at.step() == 1.0, g, moved));
  return at.parameter - at["lr"] * (nesterov ? g + at["momentum"] * v : v);
}

}  // namespace tilewright
