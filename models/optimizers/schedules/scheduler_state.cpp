#include "models/optimizers/schedules/scheduler_state.h"

#include "runtime/base/error.h"

namespace tilewright::detail {

void load_numbers(std::string_view owner, const NamedTensors& numbers, const Weights& weights,
                  std::source_location w) {
  std::string known;
  bool fits = weights.names().size() == numbers.size();
  for (const auto& [name, tensor] : numbers) {
    known += concat(known.empty() ? "" : ", ", name);
    fits = fits && weights.contains(name) && weights.shape(name) == Shape{};
  }
  require(fits, "[", owner, "] the state does not fit (at ", describe(w), "); it has ", known,
          ", each a number without axes");
  for (const auto& [name, tensor] : numbers) {
    Tensor number = tensor;
    weights.read(name, number);
  }
}

}  // namespace tilewright::detail
