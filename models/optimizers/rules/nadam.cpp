#include "models/optimizers/rules/nadam.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> NAdamOptions::settings() const {
  std::vector<OptimizerSetting> all = detail::adam_settings(lr, betas, eps, weight_decay);
  all.push_back({"momentum_decay", momentum_decay});
  return all;
}

std::vector<StateScalar> NAdamOptions::scalars() const { return {{"mu_product", 1}}; }

std::vector<StateTensor> NAdamOptions::states(const Shape&) const {
  return detail::adam_states(false);
}

void NAdamOptions::prepare(GroupUpdate& at) const {
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

Tensor NAdamOptions::update(const ParameterUpdate& at) const {
  const auto [parameter, g] = detail::decayed(at, decoupled_weight_decay);
  const Tensor mean = detail::next_mean(at, g), square = detail::next_square(at, g);
  const Tensor root = sqrt(square / at["correction"]) + at["eps"];
  return parameter - at["of_gradient"] * (g / root) - at["of_mean"] * (mean / root);
}

}  // namespace tilewright
