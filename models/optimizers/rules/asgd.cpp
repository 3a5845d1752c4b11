#include "models/optimizers/rules/asgd.h"

#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

std::vector<OptimizerSetting> AsgdOptions::settings() const {
  return {
      {"lr", lr}, {"lambd", lambd}, {"alpha", alpha}, {"t0", t0}, {"weight_decay", weight_decay}};
}

std::vector<StateScalar> AsgdOptions::scalars() const { return {{"eta", lr}, {"mu", 1}}; }

std::vector<StateTensor> AsgdOptions::states(const Shape&) const { return {{"ax"}}; }

void AsgdOptions::prepare(GroupUpdate& at) const {
  at.store("eta", at["lr"] / pow(1 + at["lambd"] * at["lr"] * at.step(), at["alpha"]));
  at.store("mu", 1 / maximum(at.step() - at["t0"], 1.0));
}

Tensor AsgdOptions::update(const ParameterUpdate& at) const {
  const Tensor g = at.gradient + at["weight_decay"] * at.parameter;
  const Tensor next = at.parameter * (1 - at["lambd"] * at["eta"]) - at["eta"] * g;
  const Tensor average = at.state("ax");
  at.store("ax", where(at["mu"] == 1.0, next, average + at["mu"] * (next - average)));
  return next;
}

}  // namespace tilewright
