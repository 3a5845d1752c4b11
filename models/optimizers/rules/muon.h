// Muon (Jordan et al., 2024), as torch.optim.Muon: a matrix moves by its momentum, made nearly
// orthogonal by five steps of a Newton-Schulz iteration.
//
//   m = m + (1 - momentum) (g - m),  u = m, or g + momentum (m - g) with Nesterov's momentum
//   X = u / |u|;  five times: A = X X^T,  X = a X + (b A + c A^2) X
//   x = x (1 - lr weight_decay) - lr scale X
//
// For matrices alone. Embeddings, the last layer and vectors are trained by another optimizer:
//
//   Muon muon(trainable_parameters(net, "blocks.*.weight"), {.lr = 0.02});
//
// The products of the iteration are of bf16 with sums of f32, as in PyTorch, unless `products` is
// another dtype. Its coefficients are constants of a compiled step.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/optimizers/optimizer.h"
#include "runtime/base/error.h"

namespace tilewright {

// The factor of a rate by the matrix's shape: sqrt(max(1, rows / columns)), 0.2 sqrt(max(rows,
// columns)), by which rates are those of AdamW, and sqrt(rows / columns).
enum class MuonRate : std::uint8_t { original, match_rms_adamw, spectral_unclamped };

struct MuonOptions {
  static constexpr const char* name = "Muon";
  static constexpr bool saves_step = false;
  struct Coefficients {
    double a = 3.4445, b = -4.775, c = 2.0315;
  };
  double lr = 1e-3, weight_decay = 0.1, momentum = 0.95;
  bool nesterov = true;
  Coefficients ns_coefficients = {};
  double eps = 1e-7;
  int ns_steps = 5;
  MuonRate adjust_lr = MuonRate::original;
  DType products = bf16;
  bool maximize = false;

  void check() const {
    constexpr int most_steps = 99;
    require(ns_steps >= 0 && ns_steps <= most_steps, "[Muon] ns_steps is ", ns_steps,
            "; it must be between 0 and ", most_steps);
    const auto [a, b, c] = ns_coefficients;
    require(std::isfinite(a) && std::isfinite(b) && std::isfinite(c), "[Muon] ns_coefficients are ",
            a, ", ", b, " and ", c, "; they must be finite");
  }
  void check_parameter(std::string_view parameter, const Tensor& tensor) const {
    require(tensor.rank() == 2, "[Muon] the parameter \"", parameter, "\" is ", tensor.shape(),
            "; only matrices have this update: choose them by trainable_parameters(module, "
            "filter), and train the others by another optimizer");
  }
  std::vector<OptimizerSetting> settings() const {
    return {{"lr", lr}, {"weight_decay", weight_decay}, {"momentum", momentum}, {"eps", eps}};
  }
  std::vector<StateTensor> states(const Shape&) const { return {{"momentum_buffer"}}; }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor former = at.state("momentum_buffer"), &g = at.gradient;
    const Tensor mean = at.store("momentum_buffer", former + (1 - at["momentum"]) * (g - former));
    const Tensor moved = nesterov ? g + at["momentum"] * (mean - g) : mean;
    return at.parameter * (1 - at["lr"] * at["weight_decay"]) -
           at["lr"] * scale(g.shape()) * orthogonal(moved, at["eps"]).to(g.dtype());
  }

 private:
  double scale(const Shape& shape) const {
    const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
    switch (adjust_lr) {
      case MuonRate::original: return std::sqrt(std::max(1.0, rows / columns));
      case MuonRate::match_rms_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
      case MuonRate::spectral_unclamped: return std::sqrt(rows / columns);
    }
    return 1;
  }
  // Rounded to `products` where PyTorch rounds; sums of 16 bits are f32.
  Tensor orthogonal(const Tensor& matrix, const Tensor& eps) const {
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
};
using Muon = OptimizerBy<MuonOptions>;

}  // namespace tilewright
