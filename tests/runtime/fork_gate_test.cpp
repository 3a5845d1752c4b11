#include "runtime/base/fork_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/cpu/beside.h"

namespace tilewright::fork_gate_test {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Forks; whether the child, which goes inside, ended by itself.
bool child_comes_in() {
  pid_t child = fork();
  if (child == 0) {
    alarm(5);
    InsideLibrary inside;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkGate, AForkWaitsUntilNoOtherThreadIsInside) {
  std::atomic<bool> is_inside{false}, has_left{false};
  std::thread other([&] {
    InsideLibrary inside, again;
    is_inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    has_left = true;
  });
  while (!is_inside) std::this_thread::yield();
  EXPECT_TRUE(child_comes_in());
  EXPECT_TRUE(has_left);
  other.join();
}

TEST(ForkGate, AThreadThatIsItselfInsideWaitsForNobodyLong) {
  std::atomic<bool> is_inside{false}, done{false};
  std::thread other([&] {
    InsideLibrary inside;
    is_inside = true;
    while (!done) std::this_thread::yield();
  });
  while (!is_inside) std::this_thread::yield();
  auto begin = Clock::now();
  {
    InsideLibrary inside;
    EXPECT_TRUE(child_comes_in());
  }
  EXPECT_LT(seconds_since(begin), 5);
  done = true;
  other.join();
  EXPECT_TRUE(child_comes_in());
}

// The sanitizers' own allocators and registries of threads are not made for such forks.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// Many threads come and go, some with helpers, while the process forks again and again.
TEST(ForkGate, ManyThreadsComeAndGoWhileTheProcessForks) {
  std::atomic<bool> done{false};
  std::atomic<int> visits{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!done) {
        InsideLibrary inside;
        run_beside(2, [&] {
          InsideLibrary helper;
          ++visits;
        });
      }
    });
  auto begin = Clock::now();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(child_comes_in());
  EXPECT_LT(seconds_since(begin), 60);
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(visits, 50);
  EXPECT_EQ(InsideLibrary::depth(), 0);
}
#endif

}  // namespace
}  // namespace tilewright::fork_gate_test
