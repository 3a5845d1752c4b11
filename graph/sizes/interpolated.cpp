#include "graph/sizes/interpolated.h"

#include <atomic>

#include "runtime/base/error.h"

namespace tilewright::graph {

void raise_wrongly_interpolated(std::string_view what, std::int64_t interpolated,
                                std::int64_t made) {
  raise_internal_error(
      concat(what, " of another size are interpolated with ", interpolated, ", not ", made),
      std::source_location::current());
}

static std::atomic<bool> is_verified = false;

void verify_interpolated(bool wanted) { is_verified = wanted; }
bool is_interpolated_verified() { return is_verified; }

}  // namespace tilewright::graph
