#include "models/optimizers/rules/rmsprop.h"

namespace tilewright {

std::vector<OptimizerSetting> RmsPropOptions::settings() const {
  std::vector<OptimizerSetting> all = {
      {"lr", lr}, {"alpha", alpha}, {"eps", eps}, {"weight_decay", weight_decay}};
  if (momentum != 0) all.push_back({"momentum", momentum});
  return all;
}

std::vector<StateTensor> RmsPropOptions::states(const Shape&) const {
  std::vector<StateTensor> all = {{"square_avg"}};
  if (centered) all.push_back({"grad_avg"});
  if (momentum != 0) all.push_back({"momentum_buffer"});
  return all;
}

Tensor RmsPropOptions::update(const ParameterUpdate& at) const {
  const Tensor g = at.gradient + at["weight_decay"] * at.parameter, rest = 1 - at["alpha"];
  Tensor square = at.store("square_avg", at["alpha"] * at.state("square_avg") + rest * (g * g));
  if (centered) {
    const Tensor former = at.state("grad_avg"),
                 mean = at.store("grad_avg", former + rest * (g - former));
    square = square - mean * mean;
  }
  const Tensor ratio = g / (sqrt(square) + at["eps"]);
  if (momentum == 0) return at.parameter - at["lr"] * ratio;
  const Tensor sum = at["momentum"] * at.state("momentum_buffer") + ratio;
  return at.parameter - at["lr"] * at.store("momentum_buffer", sum);
}

}  // namespace tilewright
