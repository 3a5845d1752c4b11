#include "models/optimizers/rules/radam.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> RAdamOptions::settings() const {
  return detail::adam_settings(lr, betas, eps, weight_decay);
}

std::vector<StateTensor> RAdamOptions::states(const Shape&) const {
  return detail::adam_states(false);
}

void RAdamOptions::prepare(GroupUpdate& at) const {
  const Tensor power = pow(at["beta2"], at.step()), correction = 1 - power;
  const Tensor most = 2.0 / (1 - at["beta2"]) - 1.0,
               length = most - 2.0 * at.step() * power / correction;
  const Tensor squared =
      (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length);
  at.give("is_long", length > 5.0);
  at.give("rectification", sqrt(squared) * sqrt(correction));
  at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
}

Tensor RAdamOptions::update(const ParameterUpdate& at) const {
  const auto [parameter, g] = detail::decayed(at, decoupled_weight_decay);
  const Tensor step = at["step_size"] * detail::next_mean(at, g);
  const Tensor root = sqrt(detail::next_square(at, g)) + at["eps"];
  return parameter - where(at["is_long"], step * (at["rectification"] / root), step);
}

}  // namespace tilewright
