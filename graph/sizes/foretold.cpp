#include "graph/sizes/foretold.h"

#include <atomic>

#include "runtime/base/error.h"

namespace tilewright::graph {

void raise_wrongly_foretold(std::string_view what, std::int64_t foretold, std::int64_t made) {
  raise_internal_error(
      concat(what, " of another size are foretold with ", foretold, ", not ", made),
      std::source_location::current());
}

static std::atomic<bool> is_verified = false;

void verify_foretold(bool wanted) { is_verified = wanted; }
bool is_foretold_verified() { return is_verified; }

}  // namespace tilewright::graph
