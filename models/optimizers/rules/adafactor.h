// Adafactor (Shazeer and Stern, 2018), as torch.optim.Adafactor: mean squares of a matrix are kept
// as those of its rows and of its columns alone, and steps are relative to the parameter's size.
//
//   b = t^beta2_decay,  R = R + b (mean of g^2 over columns - R),  C the same over rows
//   V = R C / max(mean of R, eps.first);  of a vector V = V + b (g^2 - V)
//   u = g / sqrt(max(V, eps.first^2))
//   x = x - max(eps.second, rms(x)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d)
#pragma once

#include <limits>

#include "models/optimizers/optimizer.h"

namespace tilewright {

struct AdafactorOptions {
  static constexpr const char* name = "Adafactor";
  struct Eps {
    std::optional<double> first = {};  // absent: the distance from 1 to the next number
    double second = 1e-3;
  };
  double lr = 1e-2, beta2_decay = -0.8;
  Eps eps = {};
  double d = 1, weight_decay = 0;
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape& parameter) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;

 private:
  static Tensor root_mean_square(const Tensor& x);
  static Tensor moved(const ParameterUpdate& at, const char* state, const Tensor& to);
  static Tensor variance(const ParameterUpdate& at, const Tensor& least);
};
using Adafactor = OptimizerBy<AdafactorOptions>;

}  // namespace tilewright
