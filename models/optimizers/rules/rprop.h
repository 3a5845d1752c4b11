// Resilient backpropagation (Riedmiller and Braun, 1993), as torch.optim.Rprop: only the signs of
// gradients count. The step of an element grows by the second eta while its gradient keeps its
// sign, shrinks by the first where that changes, and then waits for one step. `lr` is the first
// step of each element, and nothing later.
#pragma once

#include "graph/functions/pointwise/arithmetic.h"
#include "models/optimizers/optimizer.h"

namespace tilewright {

struct RpropOptions {
  static constexpr const char* name = "Rprop";
  struct Etas {
    double shrink = 0.5, grow = 1.2;
  };
  struct StepSizes {
    double least = 1e-6, most = 50;
  };
  double lr = 1e-2;
  Etas etas = {};
  StepSizes step_sizes = {};
  bool maximize = false;

  std::vector<OptimizerSetting> settings() const {
    return {{"lr", lr},
            {.name = "etaminus", .value = etas.shrink, .below = 1, .above = 0},
            {.name = "etaplus", .value = etas.grow, .above = 1},
            {"step_size_min", step_sizes.least},
            {"step_size_max", step_sizes.most}};
  }
  std::vector<StateTensor> states(const Shape&) const { return {{"prev"}, {"step_size", lr}}; }
  Tensor update(const ParameterUpdate& at) const {
    const Tensor turn = at.gradient * at.state("prev");
    auto number = [&](const char* name) { return at[name].to(turn.dtype()); };
    const Tensor factor =
        where(turn > 0.0, number("etaplus"), where(turn < 0.0, number("etaminus"), 1.0));
    const Tensor changed = maximum(at.state("step_size") * factor, at["step_size_min"]);
    const Tensor step = at.store("step_size", minimum(changed, at["step_size_max"]));
    const Tensor g = at.store("prev", where(turn < 0.0, 0.0, at.gradient));
    return at.parameter - sign(g) * step;
  }
};
using Rprop = OptimizerBy<RpropOptions>;

}  // namespace tilewright
