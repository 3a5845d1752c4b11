// Threads that end by pthread_exit while a function of theirs is captured, or runs: the system
// unwinds their stacks, which no handler of the library may stop, and others go on.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/log.h"
#include "graph/tensor/tensor.h"

namespace tilewright::thread_exit_test {
namespace {

Tensor ended(const Tensor& x) {
  pthread_exit(nullptr);
  return x;
}

// In a thread of its own, which does not come back; then another function is compiled here.
void expect_ended(const std::function<void()>& work) {
  bool is_over = false;
  std::thread thread([&] {
    work();
    is_over = true;
  });
  thread.join();
  EXPECT_FALSE(is_over);
  const auto twice = compile([](const Tensor& x) { return x * 2.0; });
  EXPECT_EQ(twice(full({3}, 2.0F)).to_vector<float>(), std::vector<float>(3, 4));
}

TEST(ThreadExit, OfACapturedFunctionEndsTheThreadAlone) {
  const auto f = compile([](const Tensor& x) { return ended(x * 2.0); });
  // Twice, since the function is known then.
  for (int i = 0; i < 2; ++i) expect_ended([&] { f(full({8}, 1.0F)); });
}

TEST(ThreadExit, OfAFunctionInSegmentsEndsTheThreadAlone) {
  const auto f = compile([](const Tensor& x) {
    const float first = (x * 2.0).to_vector<float>()[0];
    return ended(x + first);
  });
  expect_ended([&] { f(full({8}, 1.0F)); });
}

TEST(ThreadExit, OfALoggedValueEndsTheThreadAlone) {
  const auto f = compile([](const Tensor& x) {
    log_callback(x, [](const Tensor& value) { ended(value); });
    return x + 1.0;
  });
  expect_ended([&] { f(full({8}, 1.0F)); });
}

TEST(ThreadExit, OfABodyEndsTheThreadAlone) {
  const auto f = compile([](const Tensor& x) {
    return cond(
        sum(x) > 0.0, [](const Tensors& y) { return Tensors{ended(y[0])}; },
        [](const Tensors& y) { return y; }, {x})[0];
  });
  expect_ended([&] { f(full({8}, 1.0F)); });
}

}  // namespace
}  // namespace tilewright::thread_exit_test
