// NAdam (Dozat, 2016), Adam with Nesterov's momentum, as torch.optim.NAdam.
//
//   mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2),  p = mu_1 .. mu_t
//   x = x - lr ((1 - mu_t) / (1 - p) g + mu_t+1 / (1 - p mu_t+1) m) / (sqrt(v / (1 - beta2^t)) +
//   eps)
//
// m and v are Adam's.
#pragma once

#include "models/optimizers/rules/adam.h"

namespace tilewright {

struct NAdamOptions {
  static constexpr const char* name = "NAdam";
  double lr = 2e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
  bool decoupled_weight_decay = false, maximize = false;

  std::vector<OptimizerSetting> settings() const {
    std::vector<OptimizerSetting> all = detail::adam_settings(lr, betas, eps, weight_decay);
    all.push_back({"momentum_decay", momentum_decay});
    return all;
  }
  std::vector<StateScalar> scalars() const { return {{"mu_product", 1}}; }
  std::vector<StateTensor> states(const Shape&) const { return detail::adam_states(false); }
  void prepare(GroupUpdate& at) const {
    auto momentum = [&](const Tensor& step) {
      return at["beta1"] * (1 - 0.5 * pow(0.96, step * at["momentum_decay"]));
    };
    const Tensor now = momentum(at.step()), next = momentum(at.step() + 1.0),
                 product = (at["mu_product"] * now.to(f32)).to(f64);  // PyTorch's is f32
    at.store("mu_product", product);
    at.give("of_gradient", at["lr"] * (1 - now) / (1 - product));
    at.give("of_mean", at["lr"] * next / (1 - product * next));
    at.give("correction", 1 - pow(at["beta2"], at.step()));
  }
  Tensor update(const ParameterUpdate& at) const {
    const auto [parameter, g] = detail::decayed(at, decoupled_weight_decay);
    const Tensor mean = detail::next_mean(at, g), square = detail::next_square(at, g);
    const Tensor root = sqrt(square / at["correction"]) + at["eps"];
    return parameter - at["of_gradient"] * (g / root) - at["of_mean"] * (mean / root);
  }
};
using NAdam = OptimizerBy<NAdamOptions>;

}  // namespace tilewright
