#include "runtime/cpu/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/cpu/thread_pool.h"
#include "tests/runtime/parallel_loops.h"

namespace tilewright::parallel_test {
namespace {

using namespace testing_parallel;

TEST_F(Parallel, EveryIndexIsVisitedOnceForAnyCountAndAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 7, 16}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    for (std::int64_t count : {0, 1, 2, 3, 5, 16, 17, 1000, 4099}) expect_every_index_once(count);
  }
}

TEST_F(Parallel, CountsBeyond32BitsAreCoveredWithoutGapOrOverlap) {
  set_thread_count(3);
  constexpr std::int64_t count = (std::int64_t{5} << 32) + 12345;
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  run(count, [&](std::int64_t begin, std::int64_t end, int) {
    std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  std::int64_t next = 0;
  for (auto [begin, end] : pieces) {
    ASSERT_EQ(begin, next);
    ASSERT_LT(begin, end);
    next = end;
  }
  EXPECT_EQ(next, count);
}

TEST_F(Parallel, ManyShortLoopsBackToBackLoseNothing) {
  set_thread_count(4);
  std::atomic<std::int64_t> sum{0};
  for (int loop = 0; loop < 20'000; ++loop)
    run(8, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 8 * 20'000);
}

TEST_F(Parallel, LoopsAfterWorkersFellAsleepStillUseThem) {
  set_thread_count(2);
  std::set<int> seen;
  std::mutex mutex;
  for (int loop = 0; loop < 50 && seen.size() < 2; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // far longer than workers spin
    run(64, [&](std::int64_t, std::int64_t, int worker) {
      work_for(std::chrono::microseconds(50));
      std::lock_guard lock(mutex);
      seen.insert(worker);
    });
  }
  EXPECT_THAT(seen, testing::ElementsAre(0, 1));
}

// True if any thread of this process but this one runs, or would if it had a processor.
bool is_another_running() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string stat((std::istreambuf_iterator<char>(file)), {});
    auto name_ends = stat.rfind(") ");
    bool is_this = task.path().filename() == std::to_string(::gettid());
    if (!is_this && name_ends != stat.npos && stat[name_ends + 2] == 'R') return true;
  }
  return false;
}

TEST_F(Parallel, WorkersWithoutWorkSleep) {
  set_thread_count(3);
  run(64, [&](std::int64_t, std::int64_t, int) { work_for(std::chrono::microseconds(50)); });
  bool sleep = false;
  for (int look = 0; look < 1000 && !sleep; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sleep = !is_another_running();
  }
  EXPECT_TRUE(sleep);
}

TEST_F(Parallel, OneWorkerIndexIsNeverInTwoBodiesAtOnce) {
  set_thread_count(8);
  std::array<std::atomic<int>, 8> inside{};
  std::atomic<int> overlaps{0};
  for (int loop = 0; loop < 200; ++loop)
    run(100, [&](std::int64_t, std::int64_t, int worker) {
      if (inside[static_cast<std::size_t>(worker)].fetch_add(1) != 0) ++overlaps;
      work_for(std::chrono::microseconds(1));
      inside[static_cast<std::size_t>(worker)].fetch_sub(1);
    });
  EXPECT_EQ(overlaps.load(), 0);
}

TEST_F(Parallel, LoopsFromSeveralThreadsAreServedWithoutDeadlock) {
  set_thread_count(3);
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop)
        run(10, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 6 * 500 * 10);
}

TEST_F(Parallel, ALoopInsideABodyRunsOnThatBodysWorker) {
  set_thread_count(4);
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> elsewhere{0};
  run(16, [&](std::int64_t begin, std::int64_t end, int outer) {
    std::thread::id self = std::this_thread::get_id();
    for (std::int64_t i = begin; i < end; ++i)
      run(5, [&, self, outer](std::int64_t b, std::int64_t e, int inner) {
        if (inner != outer || std::this_thread::get_id() != self) ++elsewhere;
        sum += e - b;
      });
  });
  EXPECT_EQ(sum.load(), 16 * 5);
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST_F(Parallel, AnUnevenLoopIsBalanced) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two CPUs";
  set_thread_count(2);
  // The whole weight lies in the first half, which a static split would give to one worker.
  std::array<std::atomic<int>, 2> heavy{};
  run(64, [&](std::int64_t begin, std::int64_t end, int worker) {
    for (std::int64_t i = begin; i < std::min<std::int64_t>(end, 32); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++heavy[static_cast<std::size_t>(worker)];
    }
  });
  EXPECT_EQ(heavy[0] + heavy[1], 32);
  EXPECT_GE(std::min(heavy[0], heavy[1]), 4);
}

TEST_F(Parallel, AHookGetsTheLoopAndThePoolComesBackAfterIt) {
  std::vector<std::int64_t> counts;
  set_parallel_for(
      [&](std::int64_t count, RangeBody body, void* context) {
        counts.push_back(count);
        for (std::int64_t i = count - 1; i >= 0; --i)
          body(context, i, i + 1, static_cast<int>(i % 5));
      },
      5);
  EXPECT_EQ(thread_count(), 5);
  std::vector<std::int64_t> order;
  run(7, [&](std::int64_t begin, std::int64_t, int worker) {
    EXPECT_EQ(worker, begin % 5);
    order.push_back(begin);
    run(3, [&](std::int64_t b, std::int64_t e, int inner) {
      EXPECT_EQ(e - b, 3) << "a nested loop does not reach the hook";
      EXPECT_EQ(inner, worker);
    });
  });
  EXPECT_THAT(order, testing::ElementsAre(6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(counts, testing::ElementsAre(7));
  set_parallel_for({}, 0);
  expect_every_index_once(100);
  EXPECT_THAT(counts, testing::ElementsAre(7));
}

// True if the child ended by itself with status 0 within ten seconds.
bool ended_well(pid_t child) {
  for (int i = 0; i < 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return false;
}

#if !defined(__SANITIZE_THREAD__)  // which forbids threads in a child of a process with threads
TEST_F(Parallel, AChildAfterForkRunsLoopsWhileTheParentLaunches) {
  set_thread_count(3);
  std::atomic<bool> done{false};
  std::thread launcher([&] {
    while (!done) run(9, [](std::int64_t, std::int64_t, int) {});
  });
  for (int i = 0; i < 100; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::atomic<std::int64_t> sum{0};
      for (int loop = 0; loop < 10; ++loop)
        run(50, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
      _exit(sum.load() == 500 ? 0 : 1);
    }
    if (!ended_well(child)) {
      ADD_FAILURE() << "child " << i << " hung or lost work";
      break;
    }
  }
  done = true;
  launcher.join();
}
#endif

TEST(ThreadPool, APoolThatIsNeverUsedEnds) {
  for (int round = 0; round < 100; ++round) ThreadPool pool(4);
}

}  // namespace
}  // namespace tilewright::parallel_test
