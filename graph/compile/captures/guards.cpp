#include "graph/compile/captures/guards.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::graph {

static bool is_gone(const Guard& guard) { return guard.object->is_gone; }

void Guards::look() {
  hold_ = std::ranges::all_of(guards_,
                              [](const Guard& guard) { return is_gone(guard) || guard.holds(); });
}

bool Guards::is_any_gone() const { return std::ranges::any_of(guards_, is_gone); }

void Guards::drop_gone() { std::erase_if(guards_, is_gone); }

std::vector<Difference> Guards::differences() const {
  std::vector<Difference> result;
  for (const Guard& guard : guards_)
    if (!guard.holds())
      result.push_back({.reason = RecompileReason::guard,
                        .found = concat(guard.object->name, " is ", guard.text()),
                        .expected = guard.expected,
                        .where = guard.where});
  return result;
}

std::string Guards::text() const {
  std::string text;
  for (const Guard& guard : guards_)
    text += concat("  ", guard.object->name, " is ", guard.expected, " (read at ",
                   describe(guard.where), ")\n");
  return text;
}

}  // namespace tilewright::graph
