#include "tests/property/seeds.h"

#include <errno.h>
#include <gtest/gtest.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {

std::vector<std::uint64_t> seeds_of_test(std::uint64_t count) {
  if (auto seed = env::seed()) return {static_cast<std::uint64_t>(*seed)};
  std::vector<std::uint64_t> seeds(count);
  for (std::uint64_t i = 0; i < count; ++i) seeds[i] = i;
  return seeds;
}

std::string reproduction(std::uint64_t seed) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return concat("repeat: TILEWRIGHT_SEED=", seed, " build/release/tests/",
                program_invocation_short_name, " --gtest_filter=", test->test_suite_name(), ".",
                test->name());
}

}  // namespace tilewright
