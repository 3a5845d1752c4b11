// A child after fork computes, whatever other threads of its parent did at that moment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::fork_test {
namespace {

// The sanitizers' own allocators and registries of threads are not made for such forks.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

Tensor chain(const Tensor& x, int k) {
  Tensor y = x;
  for (int i = 0; i < 3; ++i) y = softmax(matmul(y, x) * (k + 1.5), -1) + sin(y);
  return y;
}

// How many children of so many did not end well, while another thread of the parent works.
int children_in_trouble(int forks, const std::function<void(int)>& parent,
                        const std::function<void(int)>& child) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int turn = 0; !done; ++turn) parent(turn);
  });
  int troubled = 0;
  for (int i = 0; i < forks; ++i) {
    usleep(static_cast<useconds_t>(500 + i * 1700 % 6000));
    pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      try {
        child(i);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    troubled += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  done = true;
  other.join();
  return troubled;
}

TEST(Forks, AChildCompilesWhileItsParentDoes) {
  Tensor x = ramp({16, 16});
  std::atomic<int> latest{0};
  auto compiled = [&](int k) { return compile([k](const Tensor& t) { return chain(t, k); })(x); };
  auto parent = [&](int turn) {
    latest = turn;
    compiled(turn);
  };
  // The kernel that the parent may be compiling, and one of the child's own.
  auto child = [&](int i) {
    compiled(latest);
    compiled(100000 + i);
  };
  EXPECT_EQ(children_in_trouble(25, parent, child), 0);
}

TEST(Forks, AChildCallsWhatItsParentCalls) {
  Tensor x = ramp({16, 16});
  Compiled shared = compile([](const Tensor& t) { return softmax(t * 2, -1); });
  shared(x);
  EXPECT_EQ(children_in_trouble(
                60, [&](int) { shared(x); }, [&](int) { shared(x); }),
            0);
}

TEST(Forks, AChildMakesTensorsWhileItsParentDoes) {
  auto work = [](int i) {
    Tensor y = ones({1 + i % 50, 3 + i % 7}) * 2;
    Tensor::empty({1 << 14});
  };
  EXPECT_EQ(children_in_trouble(60, work, work), 0);
}

#endif

}  // namespace
}  // namespace tilewright::fork_test
