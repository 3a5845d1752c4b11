// Adafactor (Shazeer and Stern, 2018), as torch.optim.Adafactor: mean squares of a matrix are kept
// as those of its rows and of its columns alone, and steps are relative to the parameter's size.
//
//   b = t^beta2_decay,  R = R + b (mean of g^2 over columns - R),  C the same over rows
//   V = R C / max(mean of R, eps.first);  of a vector V = V + b (g^2 - V)
//   u = g / sqrt(max(V, eps.first^2))
//   x = x - max(eps.second, rms(x)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d)
#pragma once

#include <limits>

#include "graph/functions/pointwise/elementary.h"
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

  std::vector<OptimizerSetting> settings() const {
    std::vector<OptimizerSetting> all = {{"lr", lr},
                                         {.name = "beta2_decay",
                                          .value = beta2_decay,
                                          .least = -std::numeric_limits<double>::infinity(),
                                          .most = 0},
                                         {"eps2", eps.second},
                                         {"d", d, 1},
                                         {"weight_decay", weight_decay}};
    if (eps.first) all.push_back({"eps1", *eps.first});
    return all;
  }
  std::vector<StateTensor> states(const Shape& parameter) const {
    if (parameter.rank() < 2) return {{"variance"}};
    Shape rows = parameter, columns = parameter;
    rows[parameter.rank() - 1] = 1;
    columns[parameter.rank() - 2] = 1;
    return {{"row_var", 0, rows}, {"col_var", 0, columns}};
  }
  void prepare(GroupUpdate& at) const {
    at.give("share", pow(at.step(), at["beta2_decay"]));
    at.give("rate", minimum(at["lr"], 1 / sqrt(at.step())));
  }
  Tensor update(const ParameterUpdate& at) const {
    const double epsilon = at.parameter.dtype() == f64 ? std::numeric_limits<double>::epsilon()
                                                       : std::numeric_limits<float>::epsilon();
    const Tensor least = eps.first ? at["eps1"] : full({}, epsilon, f64);
    const Tensor& g = at.gradient;
    const Tensor scale = maximum(at["eps2"], root_mean_square(at.parameter)) * at["rate"];
    const Tensor direction = g / sqrt(maximum(variance(at, least), least * least));
    const Tensor excess = maximum(1.0, root_mean_square(direction) / at["d"]);
    return at.parameter * (1 - at["lr"] * at["weight_decay"]) - scale / excess * direction;
  }

 private:
  static Tensor root_mean_square(const Tensor& x) { return sqrt(mean(x * x)); }
  static Tensor moved(const ParameterUpdate& at, const char* state, const Tensor& to) {
    const Tensor former = at.state(state);
    return at.store(state, former + at["share"] * (to - former));
  }
  static Tensor variance(const ParameterUpdate& at, const Tensor& least) {
    const Tensor squares = at.gradient * at.gradient;
    if (at.gradient.rank() < 2) return moved(at, "variance", squares);
    const Tensor rows = moved(at, "row_var", mean(squares, {-1}, true)),
                 columns = moved(at, "col_var", mean(squares, {-2}, true));
    return rows * columns / maximum(mean(rows, {-2}, true), least);
  }
};
using Adafactor = OptimizerBy<AdafactorOptions>;

}  // namespace tilewright
