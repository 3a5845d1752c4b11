// Many rows, a million of them nightly (TILEWRIGHT_TEST_POINTS keys): all are found, and two such
// databases merged lose none. How long that takes is the section database of `tilewright bench`.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "autotune/database/exchange.h"
#include "runtime/base/env.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::scale_test {
namespace {

constexpr std::int64_t configurations = 50;

// The rows of half of the keys are in both databases, with other times.
void fill(TuningDatabase& database, std::int64_t first_key, double ns, std::int64_t count) {
  std::vector<TuningRow> rows;
  for (std::int64_t key = first_key; key < first_key + count; ++key) {
    for (std::int64_t i = 1; i <= configurations; ++i)
      rows.push_back({test_key(key), test_configuration(i),
                      ok_observation({ns + i * 1.5, ns + i * 1.25, ns + i * 1.75},
                                     new_year_ms + static_cast<std::int64_t>(ns))});
    if (rows.size() < 20'000 && key + 1 < first_key + count) continue;
    ASSERT_TRUE(database.store(std::exchange(rows, {})));
  }
}

TEST(SlowDatabase, ManyRowsAreFoundAndMergedWithoutLosingOne) {
  ScratchFolder folder;
  const std::int64_t keys = env::test_points().value_or(4'000);
  TuningDatabase one(folder.path() / "one.db"), other(folder.path() / "other.db");
  fill(one, 1, 1000, keys);
  fill(other, keys / 2, 500, keys);
  ASSERT_EQ(one.counts().rows, keys * configurations);
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    TuningKey key = test_key(
        1 + static_cast<std::int64_t>(next_random(state) % static_cast<std::uint64_t>(keys)));
    Lookup found = one.lookup(key);
    ASSERT_TRUE(found.best && found.best->configuration == test_configuration(1));
  }
  MergeReport report = merge(other, one);
  EXPECT_EQ(report.read, keys * configurations);
  EXPECT_TRUE(report.is_complete);
  EXPECT_EQ(one.counts().rows, (keys + keys / 2 - 1) * configurations);
  // The other's times are the better ones, where it has the key; its rows are of the same builds.
  Lookup both = one.lookup(test_key(keys)), alone = one.lookup(test_key(1));
  ASSERT_TRUE(both.best && alone.best);
  EXPECT_LT(both.best->median_ns(), alone.best->median_ns());
  EXPECT_EQ(both.best->observations.size(), 2U);
  EXPECT_EQ(alone.best->observations.size(), 1U);
}

TEST(SlowDatabase, AMergeThatWasKilledIsMadeWholeByAnother) {
  ScratchFolder folder;
  std::string one = folder.path() / "one.db", other = folder.path() / "other.db";
  constexpr std::int64_t few = 1'500;  // keys, of more rows than are stored at once
  auto open_and_merge = [&] {
    TuningDatabase into(one), from(other);
    return merge(from, into).is_complete;
  };
  auto fill_both = [&] {
    TuningDatabase into(one), from(other);
    fill(into, 1, 1000, 1);
    fill(from, 1, 500, few);
    return 0;
  };
  ASSERT_EQ(end_of(start(fill_both)), 0);
  pid_t child = start([&] { return open_and_merge() ? 0 : 1; });
  {
    TuningDatabase seen(one, Access::read);
    for (int ms = 0; ms < 60'000 && seen.counts().rows <= configurations; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  EXPECT_THAT(end_of(child), testing::AnyOf(128 + SIGKILL, 0));  // 0: it was faster
  EXPECT_TRUE(open_and_merge());
  TuningDatabase into(one), from(other);
  EXPECT_EQ(into.problems(), std::vector<std::string>());
  EXPECT_EQ(into.counts().rows, few * configurations);
  // Where both had a row both are there.
  for (const TuningRow& row : into.rows(test_key(1))) EXPECT_EQ(row.observations.size(), 2u);
  for (const TuningRow& row : into.rows(test_key(few))) EXPECT_EQ(row.observations.size(), 1u);
}

}  // namespace
}  // namespace tilewright::autotune::scale_test
