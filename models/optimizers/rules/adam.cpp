#include "models/optimizers/rules/adam.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

namespace detail {

void prepare_adam(GroupUpdate& at) {
  at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
  at.give("root", sqrt(1 - pow(at["beta2"], at.step())));
}

std::vector<OptimizerSetting> adam_settings(double lr, Betas betas, double eps,
                                            double weight_decay) {
  return {{"lr", lr},
          {"beta1", betas.first, 0, 1},
          {"beta2", betas.second, 0, 1},
          {"eps", eps},
          {"weight_decay", weight_decay}};
}

Decayed decayed(const ParameterUpdate& at, bool is_decoupled) {
  if (is_decoupled) return {at.parameter * (1 - at["lr"] * at["weight_decay"]), at.gradient};
  return {at.parameter, at.gradient + at["weight_decay"] * at.parameter};
}

Tensor next_mean(const ParameterUpdate& at, const Tensor& gradient) {
  const Tensor mean = at.state("exp_avg");
  return at.store("exp_avg", mean + (1 - at["beta1"]) * (gradient - mean));
}

Tensor next_square(const ParameterUpdate& at, const Tensor& gradient) {
  return at.store("exp_avg_sq",
                  at["beta2"] * at.state("exp_avg_sq") + (1 - at["beta2"]) * (gradient * gradient));
}

std::vector<StateTensor> adam_states(bool amsgrad) {
  std::vector<StateTensor> states = {{"exp_avg"}, {.name = "exp_avg_sq", .is_positive = true}};
  if (amsgrad) states.push_back({.name = "max_exp_avg_sq", .is_positive = true});
  return states;
}

Tensor update_adam(const ParameterUpdate& at, bool is_decoupled, bool amsgrad) {
  const auto [parameter, gradient] = decayed(at, is_decoupled);
  const Tensor mean = next_mean(at, gradient);
  Tensor square = next_square(at, gradient);
  if (amsgrad) square = at.store("max_exp_avg_sq", maximum(at.state("max_exp_avg_sq"), square));
  return parameter - at["step_size"] * (mean / (sqrt(square) / at["root"] + at["eps"]));
}

}  // namespace detail

std::vector<OptimizerSetting> AdamOptions::settings() const {
  return detail::adam_settings(lr, betas, eps, weight_decay);
}

std::vector<StateTensor> AdamOptions::states(const Shape&) const {
  return detail::adam_states(amsgrad);
}

void AdamOptions::prepare(GroupUpdate& at) const { detail::prepare_adam(at); }

Tensor AdamOptions::update(const ParameterUpdate& at) const {
  return detail::update_adam(at, decoupled_weight_decay, amsgrad);
}

std::vector<OptimizerSetting> AdamWOptions::settings() const {
  return detail::adam_settings(lr, betas, eps, weight_decay);
}

std::vector<StateTensor> AdamWOptions::states(const Shape&) const {
  return detail::adam_states(amsgrad);
}

void AdamWOptions::prepare(GroupUpdate& at) const { detail::prepare_adam(at); }

Tensor AdamWOptions::update(const ParameterUpdate& at) const {
  return detail::update_adam(at, true, amsgrad);
}

}  // namespace tilewright
