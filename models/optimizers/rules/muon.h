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

#include "models/optimizers/optimizer.h"

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

  void check() const;
  void check_parameter(std::string_view parameter, const Tensor& tensor) const;
  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  Tensor update(const ParameterUpdate& at) const;

 private:
  double scale(const Shape& shape) const;
  // Rounded to `products` where PyTorch rounds; sums of 16 bits are f32.
  Tensor orthogonal(const Tensor& matrix, const Tensor& eps) const;
};
using Muon = OptimizerBy<MuonOptions>;

}  // namespace tilewright
