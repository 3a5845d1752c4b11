#include "runtime/cpu/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cpu/thread_pool.h"

namespace tilewright::parallel_test {
namespace {

// Runs a callable of (begin, end, worker) as a loop.
template <typename F>
void run(std::int64_t count, F body) {
  parallel_for(
      count,
      [](void* context, std::int64_t begin, std::int64_t end, int worker) {
        (*static_cast<F*>(context))(begin, end, worker);
      },
      &body);
}

void work_for(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Each test has its own number of threads and leaves the default behind.
class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_parallel_for({}, 0); }
};

void expect_every_index_once(std::int64_t count) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  run(count, [&](std::int64_t begin, std::int64_t end, int worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, thread_count());
    for (std::int64_t i = begin; i < end; ++i) visits[static_cast<std::size_t>(i)].fetch_add(1);
  });
  for (std::int64_t i = 0; i < count; ++i)
    ASSERT_EQ(visits[static_cast<std::size_t>(i)].load(), 1) << i << " of " << count;
}

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

// A loop of another thread that has the pool until it is let go.
class PoolInUse {
 public:
  PoolInUse()
      : thread_([this] {
          run(2, [this](std::int64_t, std::int64_t, int) {
            is_used_ = true;
            is_used_.notify_all();
            may_end_.wait(false);
          });
        }) {
    is_used_.wait(false);
  }
  ~PoolInUse() { end(); }
  void end() {
    may_end_ = true;
    may_end_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> is_used_ = false, may_end_ = false;
  std::thread thread_;
};

TEST_F(Parallel, ALoopThatFindsThePoolInUseRunsOnItsOwnThread) {
  for (int threads : {2, 8}) {
    set_thread_count(threads);
    PoolInUse other;
    const std::thread::id self = std::this_thread::get_id();
    for (std::int64_t count : {2, 9, 4099}) {
      std::int64_t next = 0;
      run(count, [&](std::int64_t begin, std::int64_t end, int worker) {
        EXPECT_EQ(begin, next);
        EXPECT_EQ(worker, 0);
        EXPECT_EQ(std::this_thread::get_id(), self);
        next = end;
      });
      EXPECT_EQ(next, count);
    }
  }
}

TEST_F(Parallel, ALoopHandsItsRestOverOnceThePoolIsFree) {
  set_thread_count(2);
  PoolInUse other;
  std::array<std::atomic<int>, 64> visits{};
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<bool> is_shared = false;
  run(64, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    if (begin == 0) return other.end();
    if (std::this_thread::get_id() != self) is_shared = true;
    // The rest waits for its second worker.
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_shared && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
  });
  EXPECT_TRUE(is_shared);
  for (const std::atomic<int>& count : visits) ASSERT_EQ(count.load(), 1);
}

// A loop whose first piece takes long is not left to one thread.
TEST_F(Parallel, ALongLoopWaitsForThePool) {
  set_thread_count(2);
  PoolInUse other;
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<int> pieces = 0;
  std::atomic<bool> is_shared = false;
  std::thread end;
  run(64, [&](std::int64_t begin, std::int64_t, int) {
    if (begin == 0) {
      work_for(std::chrono::milliseconds(2));
      // Until then the loop waits, and does not go on.
      end = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(pieces.load(), 0);
        other.end();
      });
      return;
    }
    ++pieces;
    if (std::this_thread::get_id() != self) is_shared = true;
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_shared && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
  });
  end.join();
  EXPECT_TRUE(is_shared);
}

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

TEST_F(Parallel, ThreadsCanBeSetAgainAndAgain) {
  for (int round = 0; round < 200; ++round) {
    set_thread_count(1 + round % 5);
    std::atomic<std::int64_t> sum{0};
    run(20, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
    ASSERT_EQ(sum.load(), 20);
  }
}

TEST(ThreadPool, APoolThatIsNeverUsedEnds) {
  for (int round = 0; round < 100; ++round) ThreadPool pool(4);
}

}  // namespace
}  // namespace tilewright::parallel_test
