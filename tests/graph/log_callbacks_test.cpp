// Callbacks of `log_callback`: tensors that they keep, exceptions, calls of the function itself,
// threads, and the callbacks of a later capture.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "graph/functions/log.h"
#include "tests/errors.h"
#include "tests/graph/log_record.h"
#include "tests/tensors.h"

namespace tilewright::log_callbacks_test {
namespace {

using namespace testing_log;

// A callback may keep its tensors, even if the next call overwrites the memory of results.
TEST(Log, TensorsMayBeKept) {
  std::vector<Tensor> kept;
  Compiled f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        log_callback(y, [&kept](const Tensor& t) { kept.push_back(t); });
        return y;
      },
      {.mode = Mode::reduce_overhead});
  Tensor first = f(two(1, 2)).clone();
  f(two(3, 4)).copy_from(two(0, 0));
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].to_vector<float>(), (Values{2, 4}));
  EXPECT_EQ(kept[1].to_vector<float>(), (Values{6, 8}));
}

// Assigning to a handle causes the function, and with it the callback, to be captured again.
TEST(Log, CallbacksOfTheLastCapture) {
  Tensor weight = two(1, 1);
  std::vector<std::string> lines;
  int captures = 0;
  Compiled f = compile([&](const Tensor& x) {
    ++captures;
    log_callback(weight, [&lines, captures](const Tensor& t) {
      lines.push_back(std::to_string(captures) + ": " +
                      std::to_string(static_cast<int>(t.to_vector<float>()[0])));
    });
    return x + weight;
  });
  f(two(1, 2));
  f(two(1, 2));
  weight = two(2, 2);
  f(two(1, 2));
  weight.copy_from(two(3, 3));
  f(two(1, 2));
  EXPECT_EQ(lines, (std::vector<std::string>{"1: 1", "1: 1", "2: 2", "2: 3"}));
  EXPECT_TRUE(f.recompilations().empty());
}

TEST(Log, WhatACallbackThrowsReachesTheCaller) {
  for (Mode mode : modes) {
    int before = 0, behind = 0;
    Compiled f = compile(
        [&](const Tensor& x) {
          log_callback(x, [&before](const Tensor&) { ++before; });
          log_callback(sum(x), [](const Tensor& t) {
            require(t.item<float>() >= 0, "[test] the sum is ", t.item<float>());
          });
          log_callback(x, [&behind](const Tensor&) { ++behind; });
          return x * 2;
        },
        {.mode = mode});
    EXPECT_EQ(error_of([&] { f(two(1, -2)); }), "[test] the sum is -1");
    EXPECT_EQ(before, 1);
    EXPECT_EQ(behind, 0);
    EXPECT_EQ(f(two(1, 2)).to_vector<float>(), (Values{2, 4}));
    EXPECT_EQ(before, 2);
    EXPECT_EQ(behind, 1);
  }
}

// It runs outside of the function's lock.
TEST(Log, ACallbackMayCallTheFunctionAndEndIt) {
  std::unique_ptr<Compiled> f;
  std::vector<float> seen;
  auto countdown = [&](const Tensor& x) {
    log_callback(x, [&](const Tensor& t) {
      seen.push_back(t.item<float>());
      if (seen.back() > 0)
        (*f)(t - 1);
      else
        f.reset();
    });
    return x + 1;
  };
  f = std::make_unique<Compiled>(compile(countdown, {.mode = Mode::reduce_overhead}));
  (*f)(full({}, 2));
  EXPECT_EQ(seen, (std::vector<float>{2, 1, 0}));
  EXPECT_EQ(f, nullptr);
}

TEST(Log, FromSeveralThreads) {
  std::atomic<int> calls = 0;
  std::atomic<bool> is_right = true;
  Compiled f = compile(
      [&](const Tensor& x) {
        log_callback(x + 1, [&](const Tensor& t) {
          auto values = t.to_vector<float>();
          if (values[0] != values[1]) is_right = false;
          ++calls;
        });
        return x * 2;
      },
      {.mode = Mode::reduce_overhead});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&f, i] {
      Tensor x = full({2}, i).clone();
      for (int call = 0; call < 25; ++call) f(x);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 100);
  EXPECT_TRUE(is_right);
}

}  // namespace
}  // namespace tilewright::log_callbacks_test
