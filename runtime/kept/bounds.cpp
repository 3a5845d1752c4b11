#include "runtime/kept/bounds.h"

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// A program whose shapes stay the same should never meet them: a forward pass of a large model runs
// some hundred operations of distinct shapes. Code takes up to three mappings a kernel, of which
// Linux permits a process 65,530.
constexpr std::int64_t default_count = 4096;
constexpr std::int64_t default_mib = 256;
constexpr std::int64_t most_mib = std::int64_t{1} << 30;

}  // namespace

Bounds bounds_of_tables() {
  std::int64_t count = env::kept_plans().value_or(default_count);
  std::int64_t mib = env::kept_code_mib().value_or(default_mib);
  require(count >= 1, "[TILEWRIGHT_KEPT_PLANS] the value is ", count, "; it must be at least 1");
  require(mib >= 1 && mib <= most_mib, "[TILEWRIGHT_KEPT_CODE_MIB] the value is ", mib,
          "; it must be 1 to ", most_mib);
  return {count, mib << 20};
}

}  // namespace tilewright
