// Results of recorded functions: a reader gets them, or the Error, and nothing else. On a GPU that
// is so of those of its own tensors; of the host's they are copies.
#include "graph/tensor/memory/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/functions/dlpack.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::step_test {
namespace {

Compiled recorded() {
  return compile([](const Tensor& x) { return x * 2; }, {.mode = Mode::reduce_overhead});
}

TEST(Step, AStaleResultThatAnotherFunctionUsesIsAnErrorAtEachOfItsCalls) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled first = recorded();
    Tensor a = full({2}, 1).to(default_device()), b = full({2}, 5).to(default_device());
    Tensor y = first(a);
    Compiled second = compile([y](const Tensor& x) { return x + y; }, {.mode = mode});
    EXPECT_EQ(second(a).to_vector<float>(), (std::vector<float>{3, 3}));
    first(b);
    const char* message = "the tensor is output 0 of step 1 of a function compiled with";
    expect_contains(error_of([&] { second(a); }), concat("[compile] ", message));
    expect_contains(error_of([&] { second(ramp({1, 2})); }), concat("[add] ", message));
    Tensor part = y.slice(0, 0, 1);
    Compiled third = compile([part](const Tensor& x) { return x + part; }, {.mode = mode});
    expect_contains(error_of([&] { third(a); }), concat("[add] ", message));
  }
}

TEST(Step, AResultAssignedAnewIsUsedInItsNewMemory) {
  Compiled first = recorded();
  Tensor a = full({2}, 1).to(default_device()), b = full({2}, 5).to(default_device());
  Tensor y = first(a);
  Compiled second = compile([&y](const Tensor& x) { return x + y; });
  EXPECT_EQ(second(a).to_vector<float>(), (std::vector<float>{3, 3}));
  y = first(b);
  EXPECT_EQ(second(a).to_vector<float>(), (std::vector<float>{11, 11}));
}

// The function's own result lies where it writes.
TEST(Step, AFunctionMayUseItsOwnLastResult) {
  Tensor state = full({2}, 1);
  Compiled next = compile([&state](const Tensor& x) { return sum(state, {0}, true) + x; },
                          {.mode = Mode::reduce_overhead});
  Tensor x = Tensor::from<float>({1, 2}, {2}).to(default_device());
  state = next(x);
  EXPECT_EQ(state.to_vector<float>(), (std::vector<float>{3, 4}));
  state = next(x);
  EXPECT_EQ(state.to_vector<float>(), (std::vector<float>{8, 9}));
  state = next(x);
  EXPECT_EQ(state.to_vector<float>(), (std::vector<float>{18, 19}));
}

TEST(Step, EveryReaderRaises) {
  Compiled fast = recorded();
  Tensor x = full({4, 2}, 1).to(default_device());
  Tensor y = fast(x), column = y.transpose(0, 1), target = zeros({4, 2}).to(default_device());
  fast(x);
  auto stale = [&](const char* operation, auto&& read) {
    expect_contains(error_of(read), concat("[", operation, "] the tensor is output 0 of step 1"));
  };
  stale("to_string", [&] { to_string(y); });
  stale("to_vector", [&] { y.to_vector<float>(); });
  stale("to_vector", [&] { column.to_vector<float>(); });
  stale("item", [&] { y.select(0, 0).select(0, 0).item<float>(); });
  stale("data", [&] { y.data(); });
  stale("const_data", [&] { y.const_data(); });
  stale("clone", [&] { y.clone(); });
  stale("clone", [&] { column.contiguous(); });
  stale("clone", [&] { column.reshape({8}); });
  stale("copy_from", [&] { target.copy_from(y); });
  stale("copy_from", [&] { y.copy_from(target); });
  stale("to", [&] { y.to(Device::cpu()); });
  stale("to", [&] { y.to(f16); });
  stale("add", [&] { x + y; });
  stale("to_dlpack", [&] { to_dlpack(y); });
}

// A reader sees one step or the Error, also where the next step begins while it copies.
TEST(Step, ThreadsThatReadResultsNeverSeeTwoStepsAtOnce) {
  constexpr std::int64_t count = 1 << 20;
  Compiled fast = recorded();
  std::vector<Tensor> inputs;
  for (float value : {1.0F, 2.0F, 3.0F})
    inputs.push_back(full({count}, value).to(default_device()));
  fast(inputs[0]);
  std::atomic<int> torn = 0, read = 0, stale = 0;
  auto is_one = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [&](float v) { return v == values[0]; });
  };
  auto work = [&](std::size_t thread) {
    for (std::size_t turn = 0; turn < 25; ++turn) {
      Tensor y = fast(inputs[thread]);
      try {
        // By the elements, by an operation, by a copy and by another layout.
        Tensor copy = turn % 4 == 0   ? y
                      : turn % 4 == 1 ? y + 0
                      : turn % 4 == 2 ? y.clone()
                                      : y.reshape({count / 2, 2}).transpose(0, 1);
        bool is_whole = is_one(copy.to_vector<float>());
        ++(is_whole ? read : torn);
      } catch (const Error&) {
        ++stale;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < inputs.size(); ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(read + stale, 75);
  EXPECT_GT(read, 0);
}

// The stress test above does this by chance: a step waits for the reader that was there first.
TEST(Step, AStepWaitsForWhoReads) {
  Compiled fast = recorded();
  Tensor x = full({4}, 1).to(default_device()), y = fast(x);
  std::atomic<bool> is_over = false;
  std::thread next;
  {
    graph::StepAccess reading(y.body()->token, "read", std::nullopt);
    next = std::thread([&] {
      fast(full({4}, 2).to(default_device()));
      is_over = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(is_over);
    const Tensor copy = graph::copy_to(y, Device::cpu());
    EXPECT_EQ(static_cast<const float*>(copy.const_data())[0], 2);
  }
  next.join();
  expect_contains(error_of([&] { graph::StepAccess(y.body()->token, "read", std::nullopt); }),
                  "[read] the tensor is output 0 of step 1");
}

// Each reads what the other writes: neither waits for ever.
TEST(Step, TwoFunctionsThatReadEachOthersResultsDoNotBlock) {
  Compiled a = recorded(), b = recorded();
  Tensor x = full({64}, 1).to(default_device()), of_a = a(x), of_b = b(x);
  auto work = [&](const Compiled& own, const Tensor& others) {
    for (int i = 0; i < 200; ++i) {
      try {
        own(others);
      } catch (const Error&) {
        own(x);
      }
    }
  };
  std::thread first([&] { work(a, of_b); }), second([&] { work(b, of_a); });
  first.join();
  second.join();
}

}  // namespace
}  // namespace tilewright::step_test
