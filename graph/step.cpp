#include "graph/step.h"

#include "graph/location.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

void require_current(const StepToken& token, std::string_view operation,
                     std::source_location where) {
  if (token.count == nullptr) return;
  std::int64_t latest = token.count->latest.load(std::memory_order_relaxed);
  require(latest == token.step, "[", operation, "] the tensor is output ", token.output,
          " of step ", token.step, " of a function compiled with reduce-overhead, and step ",
          latest, " has overwritten it (at ", At{where},
          "); clone() it before the next call, or compile in the default mode");
}

}  // namespace tilewright::graph
