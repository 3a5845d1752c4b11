#include "runtime/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/base/fork_gate.h"

namespace tilewright::background_test {
namespace {

void until_stopped(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(BackgroundJob, RunOneAfterTheOtherInTheirOrder) {
  std::vector<int> order;  // written by one thread at a time
  std::thread::id first, second;
  BackgroundJob a([&](const std::stop_token&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    order.push_back(1);
    first = std::this_thread::get_id();
  });
  BackgroundJob b([&](const std::stop_token&) {
    order.push_back(2);
    second = std::this_thread::get_id();
  });
  EXPECT_TRUE(b.wait());
  EXPECT_TRUE(a.wait(0));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(BackgroundJob, AskedToEndEndsAndWhatHasNotBegunNeverDoes) {
  std::atomic<bool> began = false;
  BackgroundJob running(until_stopped);
  EXPECT_FALSE(running.wait(0));
  EXPECT_FALSE(running.wait(0.01));
  {
    BackgroundJob waiting([&](const std::stop_token&) { began = true; });
    EXPECT_FALSE(waiting.wait(0));
  }
  running.stop();
  EXPECT_TRUE(running.wait(0));
  BackgroundJob next([](const std::stop_token&) {});  // a thread is there again
  EXPECT_TRUE(next.wait());
  EXPECT_FALSE(began);
}

TEST(BackgroundJob, KeepsWhatItThrowsAndFreesWhatItHolds) {
  auto held = std::make_shared<int>(1);
  BackgroundJob job([held](const std::stop_token&) { throw std::runtime_error("no luck"); });
  EXPECT_TRUE(job.wait());
  EXPECT_EQ(job.failure(), "no luck");
  EXPECT_EQ(held.use_count(), 1);
  BackgroundJob good([](const std::stop_token&) {});
  EXPECT_TRUE(good.wait());
  EXPECT_EQ(good.failure(), "");
}

TEST(BackgroundJob, YieldsToOthers) {
  int own = getpriority(PRIO_PROCESS, 0), its = 0;
  BackgroundJob job([&](const std::stop_token&) {
    its = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
  });
  job.wait();
  EXPECT_TRUE(its > own || own >= 10) << own << " " << its;
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

// The end of a process asks what runs to stop, and waits for it.
TEST(BackgroundJob, EndsWithItsProcess) {
  auto exits = [] {
    static std::atomic<bool> is_running;
    // Never destroyed, as in a program that forgets them; but reachable, so that no leak is found.
    static BackgroundJob *running = nullptr, *waiting = nullptr;
    running = new BackgroundJob([](const std::stop_token& stop) {
      is_running = true;
      until_stopped(stop);
    });
    while (!is_running) std::this_thread::yield();
    waiting = new BackgroundJob(until_stopped);  // does not begin
    std::exit(running != nullptr && waiting != nullptr ? 7 : 1);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(7), "");
}

// As code generation does with LLVM's, which are made by the first program that is compiled.
TEST(BackgroundJob, MayUseStaticObjectsThatItMadeUntilTheProcessEnds) {
  auto exits = [] {
    static std::atomic<bool> is_made = false, is_gone = false;
    struct Noting {
      ~Noting() { is_gone = true; }
    };
    static BackgroundJob job([](const std::stop_token& stop) {
      static Noting noting;
      is_made = true;
      until_stopped(stop);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (is_gone) ::_exit(8);
    });
    while (!is_made) std::this_thread::yield();
    std::exit(7);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(7), "");
}

TEST(BackgroundJob, IsOverInAChild) {
  BackgroundJob running(until_stopped), waiting(until_stopped);
  pid_t child = fork();
  if (child == 0) {
    BackgroundJob own([](const std::stop_token&) {});
    _exit(running.wait(0) && waiting.wait(0) && own.wait() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(running.wait(0));
}

// A fork waits for threads that are inside the library before it takes the lock of the jobs, for
// which these may be waiting. The other way round each such fork would wait for ten seconds.
TEST(BackgroundJob, IsBegunAndWaitedForAcrossForks) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      InsideLibrary inside;
      BackgroundJob job([](const std::stop_token&) {});
      job.wait(0.001);
    }
  });
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_GT(child, 0);
    waitpid(child, nullptr, 0);
  }
  is_over = true;
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tilewright::background_test
