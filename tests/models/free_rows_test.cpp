// The free rows of a pool: runs that are taken and given back never overlap, and none is lost.
#include "models/adapters/bank/free_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilewright::free_rows_test {
namespace {

using adapters::FreeRows;
using adapters::RowRun;
using ::testing::ElementsAre;

TEST(FreeRows, AreTakenAsOneRunWhereThereIsOne) {
  FreeRows rows(10);
  EXPECT_THAT(rows.take(4), ElementsAre(RowRun{0, 4}));
  EXPECT_THAT(rows.take(2), ElementsAre(RowRun{4, 2}));
  rows.give({0, 4});
  EXPECT_THAT(rows.take(3), ElementsAre(RowRun{0, 3})) << "the shortest that holds all";
  EXPECT_THAT(rows.take(5), ElementsAre(RowRun{6, 4}, RowRun{3, 1})) << "else the longest";
  EXPECT_EQ(rows.count(), 0);
}

TEST(FreeRows, AreNeitherLostNorTakenTwice) {
  constexpr std::int64_t count = 300;
  FreeRows rows(count);
  std::mt19937_64 random(5);
  std::vector<std::vector<RowRun>> taken;
  std::vector<int> owners(count, 0);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto wanted = static_cast<std::int64_t>(random() % 40);
    if (wanted <= rows.count() && random() % 2 == 0) {
      taken.push_back(rows.take(wanted));
      std::int64_t got = 0;
      for (const RowRun& run : taken.back()) {
        got += run.count;
        for (std::int64_t row = 0; row < run.count; ++row)
          ASSERT_EQ(++owners.at(static_cast<std::size_t>(run.first + row)), 1);
      }
      ASSERT_EQ(got, wanted);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      for (const RowRun& run : taken.back()) {
        for (std::int64_t row = 0; row < run.count; ++row)
          --owners.at(static_cast<std::size_t>(run.first + row));
        rows.give(run);
      }
      taken.pop_back();
    }
    ASSERT_EQ(rows.count(), std::ranges::count(owners, 0));
  }
}

}  // namespace
}  // namespace tilewright::free_rows_test
