#include "tests/drills/cases.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::drills {
namespace {

constexpr int most_failures = 50;

bool are_all_asked_for() {
  std::string share = env::drills();
  require(share.empty() || share == "tenth" || share == "all", "[drills] TILEWRIGHT_DRILLS is ",
          share, "; tenth or all is right");
  return share == "all";
}

}  // namespace

std::vector<std::uint64_t> cases_of_drill(std::uint64_t count, std::uint64_t share) {
  if (auto one = env::seed()) return {static_cast<std::uint64_t>(*one)};
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  if (are_all_asked_for()) return all;
  // By chance and not at equal distances, because a case often depends on its number's remainder.
  Chance chance(count);
  for (std::uint64_t i = 1; i < count; ++i) std::swap(all[i], all[chance.below(i + 1)]);
  all.resize((count + share - 1) / share);
  std::ranges::sort(all);
  return all;
}

std::string repeat_line(std::uint64_t number) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return concat("repeat: TILEWRIGHT_SEED=", number, " ", program_invocation_name,
                " --gtest_filter=", test->test_suite_name(), ".", test->name());
}

void each_case(std::uint64_t count, const std::function<void(std::uint64_t)>& body,
               std::uint64_t share) {
  const auto* result = testing::UnitTest::GetInstance()->current_test_info()->result();
  int failed = 0, ran = 0;
  for (std::uint64_t number : cases_of_drill(count, share)) {
    SCOPED_TRACE(repeat_line(number));
    int before = result->total_part_count();
    body(number);
    ++ran;
    bool is_failed = false;
    for (int i = before; i < result->total_part_count(); ++i)
      is_failed |= result->GetTestPartResult(i).failed();
    if (is_failed && ++failed == most_failures) break;
    if (testing::Test::IsSkipped()) return;
  }
  std::cout << "             " << ran << " of " << count << " cases, " << failed << " failed\n";
}

}  // namespace tilewright::drills
