#include "tests/property/seeds.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {

std::vector<std::uint64_t> seeds_of_test(std::uint64_t count) {
  if (auto seed = env::seed()) return {static_cast<std::uint64_t>(*seed)};
  std::vector<std::uint64_t> seeds(count);
  for (std::uint64_t i = 0; i < count; ++i) seeds[i] = i;
  return seeds;
}

std::vector<std::uint64_t> own_seeds_of_test(std::uint64_t count) {
  const auto graphs = static_cast<std::uint64_t>(env::test_graphs().value_or(2000));
  count = std::max<std::uint64_t>(count * graphs / 2000, 1);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::uint64_t name = 0;
  for (const char* at = test->name(); *at != 0; ++at)
    name = (name * 31 + static_cast<unsigned char>(*at)) % 1'000'003;
  std::vector<std::uint64_t> seeds = seeds_of_test(count);
  if (!env::seed())
    for (std::uint64_t& seed : seeds) seed += name * 1'000'000;
  return seeds;
}

std::string reproduction(std::uint64_t seed) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return concat("repeat: TILEWRIGHT_SEED=", seed, " build/release/tests/",
                program_invocation_short_name, " --gtest_filter=", test->test_suite_name(), ".",
                test->name());
}

}  // namespace tilewright
