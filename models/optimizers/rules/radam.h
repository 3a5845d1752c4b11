// RAdam (Liu et al., 2020), Adam without its second moment as long as that is of few gradients, as
// torch.optim.RAdam.
//
// With r = 2 / (1 - beta2) - 1 and r_t = r - 2 t beta2^t / (1 - beta2^t), the length of the average
// of squares, the step is lr m / (1 - beta1^t) times, where r_t > 5, the rectification
// sqrt((r_t - 4) (r_t - 2) r / ((r - 4) (r - 2) r_t)) sqrt(1 - beta2^t) / (sqrt(v) + eps).
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct RAdamOptions {
  static constexpr const char* name = "RAdam";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0;
  bool decoupled_weight_decay = false, maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return detail::adam_settings(lr, betas, eps, weight_decay);
  }
  std::vector<StateTensor> states(const Shape&) const { return detail::adam_states(false); }
  void prepare(GroupUpdate& at) const {
    const Tensor power = pow(at["beta2"], at.step()), correction = 1 - power;
    const Tensor most = 2.0 / (1 - at["beta2"]) - 1.0,
                 length = most - 2.0 * at.step() * power / correction;
    const Tensor squared =
        (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length);
    at.give("is_long", length > 5.0);
    at.give("rectification", sqrt(squared) * sqrt(correction));
    at.give("step_size", at["lr"] / (1 - pow(at["beta1"], at.step())));
  }
  Tensor update(const ParameterUpdate& at) const {
    const auto [parameter, g] = detail::decayed(at, decoupled_weight_decay);
    const Tensor step = at["step_size"] * detail::next_mean(at, g);
    const Tensor root = sqrt(detail::next_square(at, g)) + at["eps"];
    return parameter - where(at["is_long"], step * (at["rectification"] / root), step);
  }
};
using RAdam = OptimizerBy<RAdamOptions>;

}  // namespace tilewright
