#include "graph/step.h"

#include "graph/location.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

void require_current(const StepToken& token, std::string_view operation,
                     std::optional<std::source_location> where) {
  if (token.count == nullptr) [[likely]]
    return;
  std::int64_t latest = token.count->latest.load(std::memory_order_relaxed);
  if (latest == token.step) return;
  std::string place = where ? concat(" (at ", At{*where}, ")") : std::string();
  raise_error(concat("[", operation, "] the tensor is output ", token.output, " of step ",
                     token.step, " of a function compiled with reduce-overhead, and step ", latest,
                     " has overwritten it", place,
                     "; clone() it before the next call, or compile in the default mode"));
}

}  // namespace tilewright::graph
