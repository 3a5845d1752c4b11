#include "models/optimizers/rules/adamax.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> AdamaxOptions::settings() const {
  return detail::adam_settings(lr, betas, eps, weight_decay);
}

std::vector<StateTensor> AdamaxOptions::states(const Shape&) const {
  return {{"exp_avg"}, {"exp_inf"}};
}

void AdamaxOptions::prepare(GroupUpdate& at) const {
  at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
}

Tensor AdamaxOptions::update(const ParameterUpdate& at) const {
  const Tensor g = detail::decayed(at, false).gradient, mean = detail::next_mean(at, g);
  const Tensor most =
      at.store("exp_inf", maximum(at["beta2"] * at.state("exp_inf"), abs(g) + at["eps"]));
  return at.parameter - at["step_size"] * (mean / most);
}

}  // namespace tilewright
