#include "models/optimizers/rules/adafactor.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> AdafactorOptions::settings() const {
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

std::vector<StateTensor> AdafactorOptions::states(const Shape& parameter) const {
  if (parameter.rank() < 2) return {{"variance"}};
  Shape rows = parameter, columns = parameter;
  rows[parameter.rank() - 1] = 1;
  columns[parameter.rank() - 2] = 1;
  return {{"row_var", 0, rows}, {"col_var", 0, columns}};
}

void AdafactorOptions::prepare(GroupUpdate& at) const {
  at.give("share", pow(at.step(), at["beta2_decay"]));
  at.give("rate", minimum(at["lr"], 1 / sqrt(at.step())));
}

Tensor AdafactorOptions::update(const ParameterUpdate& at) const {
  const double epsilon = at.parameter.dtype() == f64 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
  const Tensor least = eps.first ? at["eps1"] : full({}, epsilon, f64);
  const Tensor& g = at.gradient;
  const Tensor scale = maximum(at["eps2"], root_mean_square(at.parameter)) * at["rate"];
  const Tensor direction = g / sqrt(maximum(variance(at, least), least * least));
  const Tensor excess = maximum(1.0, root_mean_square(direction) / at["d"]);
  return at.parameter * (1 - at["lr"] * at["weight_decay"]) - scale / excess * direction;
}

Tensor AdafactorOptions::root_mean_square(const Tensor& x) { return sqrt(mean(x * x)); }

Tensor AdafactorOptions::moved(const ParameterUpdate& at, const char* state, const Tensor& to) {
  const Tensor former = at.state(state);
  return at.store(state, former + at["share"] * (to - former));
}

Tensor AdafactorOptions::variance(const ParameterUpdate& at, const Tensor& least) {
  const Tensor squares = at.gradient * at.gradient;
  if (at.gradient.rank() < 2) return moved(at, "variance", squares);
  const Tensor rows = moved(at, "row_var", mean(squares, {-1}, true)),
               columns = moved(at, "col_var", mean(squares, {-2}, true));
  return rows * columns / maximum(mean(rows, {-2}, true), least);
}

}  // namespace tilewright
