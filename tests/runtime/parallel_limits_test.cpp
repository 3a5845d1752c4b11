// The number of threads of loops: limits of a thread, the setting and the variable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/thread_pool.h"
#include "tests/runtime/parallel_loops.h"

namespace tilewright::parallel_limits_test {
namespace {

using namespace testing_parallel;

TEST_F(Parallel, ALimitIsOfItsThreadAndTheSmallestHolds) {
  set_thread_count(8);
  ThreadLimit limit(3);
  EXPECT_EQ(thread_count(), 3);
  {
    ThreadLimit larger(5), none(0);
    EXPECT_EQ(thread_count(), 3);
    ThreadLimit smaller(2);
    EXPECT_EQ(thread_count(), 2);
  }
  EXPECT_EQ(thread_count(), 3);
  std::thread([] { EXPECT_EQ(thread_count(), 8); }).join();
  ThreadLimit beyond(100);
  EXPECT_EQ(thread_count(), 3);
  EXPECT_THROW(ThreadLimit(-1), Error);
  EXPECT_THROW(ThreadLimit(1025), Error);
}

TEST_F(Parallel, ALoopHasNoMoreWorkersThanItsThreadsLimit) {
  set_thread_count(8);
  for (int limit : {1, 2, 3}) {
    ThreadLimit here(limit);
    std::set<int> seen;
    std::mutex mutex;
    for (int loop = 0; loop < 50; ++loop) {
      expect_every_index_once(100);
      run(64, [&](std::int64_t, std::int64_t, int worker) {
        work_for(std::chrono::microseconds(20));
        std::lock_guard lock(mutex);
        seen.insert(worker);
      });
    }
    EXPECT_LT(*seen.rbegin(), limit);
    EXPECT_GE(std::ssize(seen), std::min(limit, 2)) << "whichever workers wake first take part";
  }
}

TEST_F(Parallel, AHookGetsAsManyPartsAsTheLimitSays) {
  std::vector<std::int64_t> counts;
  set_parallel_for(
      [&](std::int64_t count, RangeBody body, void* context) {
        counts.push_back(count);
        for (std::int64_t i = 0; i < count; ++i) body(context, i, i + 1, 4);
      },
      5);
  ThreadLimit limit(3);
  std::vector<std::array<std::int64_t, 3>> pieces;
  run(10, [&](std::int64_t begin, std::int64_t end, int worker) {
    pieces.push_back({begin, end, worker});
  });
  EXPECT_THAT(counts, testing::ElementsAre(3));
  EXPECT_THAT(pieces, testing::ElementsAre(std::array<std::int64_t, 3>{0, 3, 0},
                                           std::array<std::int64_t, 3>{3, 6, 1},
                                           std::array<std::int64_t, 3>{6, 10, 2}));
  expect_every_index_once(2);
}

TEST_F(Parallel, ThreadCountsOutsideTheRangeAreNamed) {
  for (int count : {0, -3, 1025}) try {
      set_thread_count(count);
      FAIL() << count;
    } catch (const Error& error) {
      EXPECT_STREQ(
          error.what(),
          concat("[set_thread_count] the count is ", count, "; 1 to 1024 would be right").c_str());
    }
  EXPECT_THROW(set_parallel_for([](std::int64_t, RangeBody, void*) {}, 0), Error);
}

TEST_F(Parallel, TheVariableForThreadsSetsTheDefaultAndIsChecked) {
  setenv("TILEWRIGHT_THREADS", "3", 1);
  set_parallel_for({}, 0);
  EXPECT_EQ(thread_count(), 3);
  setenv("TILEWRIGHT_THREADS", "5000", 1);
  set_parallel_for({}, 0);
  EXPECT_THROW(thread_count(), Error);
  unsetenv("TILEWRIGHT_THREADS");
  EXPECT_GE(thread_count(), 1);
}

TEST_F(Parallel, ThreadsCanBeSetAgainAndAgain) {
  for (int round = 0; round < 200; ++round) {
    set_thread_count(1 + round % 5);
    std::atomic<std::int64_t> sum{0};
    run(20, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
    ASSERT_EQ(sum.load(), 20);
  }
}

}  // namespace
}  // namespace tilewright::parallel_limits_test
