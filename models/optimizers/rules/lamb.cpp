#include "models/optimizers/rules/lamb.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> LambOptions::settings() const {
  return detail::adam_settings(lr, betas, eps, weight_decay);
}

std::vector<StateTensor> LambOptions::states(const Shape&) const {
  return detail::adam_states(false);
}

void LambOptions::prepare(GroupUpdate& at) const {
  at.give("correction1", 1 - pow(at["beta1"], at.step()));
  at.give("correction2", 1 - pow(at["beta2"], at.step()));
}

Tensor LambOptions::update(const ParameterUpdate& at) const {
  const Tensor mean = detail::next_mean(at, at.gradient) / at["correction1"],
               square = detail::next_square(at, at.gradient) / at["correction2"];
  const Tensor change = mean / (sqrt(square) + at["eps"]) + at["weight_decay"] * at.parameter;
  const Tensor size = sqrt(sum(at.parameter * at.parameter)), length = sqrt(sum(change * change));
  const Tensor trust = where((size > 0.0) & (length > 0.0), size / length, 1.0);
  return at.parameter - at["lr"] * trust * change;
}

}  // namespace tilewright
