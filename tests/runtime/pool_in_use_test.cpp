// Loops that begin while the pool serves another: on their own thread, handed over, or waiting.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/cpu/parallel.h"
#include "runtime/cpu/thread_pool.h"
#include "tests/runtime/parallel_loops.h"

namespace tilewright::pool_in_use_test {
namespace {

using namespace testing_parallel;

// A loop of another thread that has the pool until it is let go, or for so long at the most.
class PoolInUse {
 public:
  explicit PoolInUse(std::chrono::milliseconds most = std::chrono::seconds(60))
      : thread_([this, most] {
          const auto latest = std::chrono::steady_clock::now() + most;
          run(2, [this, latest](std::int64_t, std::int64_t, int) {
            is_used_ = true;
            is_used_.notify_all();
            while (!may_end_ && std::chrono::steady_clock::now() < latest)
              std::this_thread::sleep_for(std::chrono::microseconds(200));
          });
        }) {
    is_used_.wait(false);
  }
  ~PoolInUse() { end(); }
  void end() {
    may_end_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> is_used_ = false, may_end_ = false;
  std::thread thread_;
};

// True if the calling thread ran all of a loop while another one had the pool. A loop that the
// system interrupts takes long, and may wait for the pool.
bool runs_alone(std::int64_t count) {
  PoolInUse other(std::chrono::milliseconds(100));
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<std::int64_t> elsewhere = 0, visits = 0, next = 0;
  run(count, [&](std::int64_t begin, std::int64_t end, int worker) {
    visits += end - begin;
    if (std::this_thread::get_id() != self || worker != 0 || begin != next)
      ++elsewhere;
    else
      next = end;
  });
  EXPECT_EQ(visits, count);
  return elsewhere == 0 && next == count;
}

TEST_F(Parallel, ALoopThatFindsThePoolInUseRunsOnItsOwnThread) {
  constexpr int attempts = 50;
  for (int threads : {2, 8}) {
    set_thread_count(threads);
    for (std::int64_t count : {2, 9, 4099}) {
      int attempt = 0;
      while (attempt < attempts && !runs_alone(count)) ++attempt;
      EXPECT_LT(attempt, attempts) << count << " turns, " << threads << " threads";
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

}  // namespace
}  // namespace tilewright::pool_in_use_test
