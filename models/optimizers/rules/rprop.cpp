#include "models/optimizers/rules/rprop.h"

#include "graph/functions/pointwise/arithmetic.h"

namespace tilewright {

std::vector<OptimizerSetting> RpropOptions::settings() const {
  return {{"lr", lr},
          {.name = "etaminus", .value = etas.shrink, .below = 1, .above = 0},
          {.name = "etaplus", .value = etas.grow, .above = 1},
          {"step_size_min", step_sizes.least},
          {"step_size_max", step_sizes.most}};
}

std::vector<StateTensor> RpropOptions::states(const Shape&) const {
  return {{"prev"}, {"step_size", lr}};
}

Tensor RpropOptions::update(const ParameterUpdate& at) const {
  const Tensor turn = at.gradient * at.state("prev");
  auto number = [&](const char* name) { return at[name].to(turn.dtype()); };
  const Tensor factor =
      where(turn > 0.0, number("etaplus"), where(turn < 0.0, number("etaminus"), 1.0));
  const Tensor changed = maximum(at.state("step_size") * factor, at["step_size_min"]);
  const Tensor step = at.store("step_size", minimum(changed, at["step_size_max"]));
  const Tensor g = at.store("prev", where(turn < 0.0, 0.0, at.gradient));
  return at.parameter - sign(g) * step;
}

}  // namespace tilewright
