// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), as torch.optim has them.
//
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   x = x - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
//
// Adam adds weight decay to the gradient, AdamW shrinks the parameter by 1 - lr weight_decay before
// the step. With amsgrad the greatest v so far takes the place of v.
#pragma once

#include "graph/functions/pointwise/elementary.h"
#include "models/optimizers/optimizer.h"

namespace tilewright {
namespace detail {

inline void prepare_adam(GroupUpdate& at) {
  at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
  at.give("root", sqrt(1 - pow(at["beta2"], at.step())));
}
inline std::vector<OptimizerSetting> adam_settings(double lr, Betas betas, double eps,
                                                   double weight_decay) {
  return {{"lr", lr},
          {"beta1", betas.first, 0, 1},
          {"beta2", betas.second, 0, 1},
          {"eps", eps},
          {"weight_decay", weight_decay}};
}
// The gradient with its weight decay, and the parameter with its own: one of both is as it was.
struct Decayed {
  Tensor parameter, gradient;
};
inline Decayed decayed(const ParameterUpdate& at, bool is_decoupled) {
  if (is_decoupled) return {at.parameter * (1 - at["lr"] * at["weight_decay"]), at.gradient};
  return {at.parameter, at.gradient + at["weight_decay"] * at.parameter};
}
// The moving averages after this step, of the gradient and of its square.
inline Tensor next_mean(const ParameterUpdate& at, const Tensor& gradient) {
  const Tensor mean = at.state("exp_avg");
  return at.store("exp_avg", mean + (1 - at["beta1"]) * (gradient - mean));
}
inline Tensor next_square(const ParameterUpdate& at, const Tensor& gradient) {
  return at.store("exp_avg_sq",
                  at["beta2"] * at.state("exp_avg_sq") + (1 - at["beta2"]) * (gradient * gradient));
}
inline std::vector<StateTensor> adam_states(bool amsgrad) {
  std::vector<StateTensor> states = {{"exp_avg"}, {.name = "exp_avg_sq", .is_positive = true}};
  if (amsgrad) states.push_back({.name = "max_exp_avg_sq", .is_positive = true});
  return states;
}
inline Tensor update_adam(const ParameterUpdate& at, bool is_decoupled, bool amsgrad) {
  const auto [parameter, gradient] = decayed(at, is_decoupled);
  const Tensor mean = next_mean(at, gradient);
  Tensor square = next_square(at, gradient);
  if (amsgrad) square = at.store("max_exp_avg_sq", maximum(at.state("max_exp_avg_sq"), square));
  return parameter - at["step_size"] * (mean / (sqrt(square) / at["root"] + at["eps"]));
}

}  // namespace detail

struct AdamOptions {
  static constexpr const char* name = "Adam";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, decoupled_weight_decay = false, maximize = false;
  StatePrecision precision = {};

  std::vector<OptimizerSetting> settings() const {
    return detail::adam_settings(lr, betas, eps, weight_decay);
  }
  std::vector<StateTensor> states(const Shape&) const { return detail::adam_states(amsgrad); }
  void prepare(GroupUpdate& at) const { detail::prepare_adam(at); }
  Tensor update(const ParameterUpdate& at) const {
    return detail::update_adam(at, decoupled_weight_decay, amsgrad);
  }
};
using Adam = OptimizerBy<AdamOptions>;

struct AdamWOptions {
  static constexpr const char* name = "AdamW";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
  StatePrecision precision = {};

  std::vector<OptimizerSetting> settings() const {
    return detail::adam_settings(lr, betas, eps, weight_decay);
  }
  std::vector<StateTensor> states(const Shape&) const { return detail::adam_states(amsgrad); }
  void prepare(GroupUpdate& at) const { detail::prepare_adam(at); }
  Tensor update(const ParameterUpdate& at) const { return detail::update_adam(at, true, amsgrad); }
};
using AdamW = OptimizerBy<AdamWOptions>;

}  // namespace tilewright
