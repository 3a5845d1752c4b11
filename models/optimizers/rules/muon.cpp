#include "models/optimizers/rules/muon.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace tilewright {

void MuonOptions::check() const {
  constexpr int most_steps = 99;
  require(ns_steps >= 0 && ns_steps <= most_steps, "[Muon] ns_steps is ", ns_steps,
          "; it must be between 0 and ", most_steps);
  const auto [a, b, c] = ns_coefficients;
  require(std::isfinite(a) && std::isfinite(b) && std::isfinite(c), "[Muon] ns_coefficients are ",
          a, ", ", b, " and ", c, "; they must be finite");
}

void MuonOptions::check_parameter(std::string_view parameter, const Tensor& tensor) const {
  require(tensor.rank() == 2, "[Muon] the parameter \"", parameter, "\" is ", tensor.shape(),
          "; only matrices have this update: choose them by trainable_parameters(module, "
          "filter), and train the others by another optimizer");
}

std::vector<OptimizerSetting> MuonOptions::settings() const {
  return {{"lr", lr}, {"weight_decay", weight_decay}, {"momentum", momentum}, {"eps", eps}};
}

std::vector<StateTensor> MuonOptions::states(const Shape&) const { return {{"momentum_buffer"}}; }

Tensor MuonOptions::update(const ParameterUpdate& at) const {
  const Tensor former = at.state("momentum_buffer"), &g = at.gradient;
  const Tensor mean = at.store("momentum_buffer", former + (1 - at["momentum"]) * (g - former));
  const Tensor moved = nesterov ? g + at["momentum"] * (mean - g) : mean;
  return at.parameter * (1 - at["lr"] * at["weight_decay"]) -
         at["lr"] * scale(g.shape()) * orthogonal(moved, at["eps"]).to(g.dtype());
}

double MuonOptions::scale(const Shape& shape) const {
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  switch (adjust_lr) {
    case MuonRate::original: return std::sqrt(std::max(1.0, rows / columns));
    case MuonRate::match_rms_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonRate::spectral_unclamped: return std::sqrt(rows / columns);
  }
  return 1;
}

Tensor MuonOptions::orthogonal(const Tensor& matrix, const Tensor& eps) const {
  const DType wide = products == f64 ? f64 : f32;
  auto product = [&](const Tensor& a, const Tensor& b) { return matmul(a, b, wide); };
  const auto [a, b, c] = ns_coefficients;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  Tensor x = matrix.to(products);
  if (is_tall) x = x.transpose(0, 1);
  const Tensor wide_x = x.to(wide), norm = sqrt(sum(wide_x * wide_x)).to(products).to(wide);
  x = (wide_x / maximum(norm, eps)).to(products);
  for (int i = 0; i < ns_steps; ++i) {
    const Tensor gram = product(x, x.transpose(0, 1)).to(products);
    const Tensor update = (b * gram.to(wide) + c * product(gram, gram)).to(products);
    x = (a * x.to(wide) + product(update, x)).to(products);
  }
  return is_tall ? x.transpose(0, 1) : x;
}

}  // namespace tilewright
