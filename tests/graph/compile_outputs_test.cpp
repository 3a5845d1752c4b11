// The memory of results of compiled functions: fresh or the same at every call, overwritten, passed
// on to the next call.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "runtime/cpu/parallel.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compile_outputs_test {
namespace {

TEST(Compile, OutputsOfTheDefaultModeAreFresh) {
  Compiled fast = compile([](const Tensor& x) { return x * 2; });
  Tensor first = fast(Tensor::from<float>({1, 2}, {2}));
  Tensor second = fast(Tensor::from<float>({5, 6}, {2}));
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(second.to_vector<float>(), (std::vector<float>{10, 12}));
}

TEST(Compile, OutputsOfReduceOverheadAreTheSameMemoryAtEveryCall) {
  Compiled fast = compile([](const Tensor& x) { return x * 2; }, {.mode = Mode::reduce_overhead});
  // Held, so that nothing else can have its memory.
  Tensor first = fast(Tensor::from<float>({1, 2}, {2}).to(default_device()));
  const void* memory = first.data();
  Tensor second = fast(Tensor::from<float>({5, 6}, {2}).to(default_device()));
  EXPECT_EQ(memory, second.data());
  EXPECT_EQ(second.to_vector<float>(), (std::vector<float>{10, 12}));
}

TEST(Compile, ReadingAnOutputThatALaterStepHasOverwrittenNamesStepsOperationAndLine) {
  Compiled fast = compile([](const Tensor& x) { return x * 2; }, {.mode = Mode::reduce_overhead});
  Tensor x = Tensor::from<float>({1, 2}, {2}).to(default_device());
  Tensor first = fast(x);
  Tensor kept = first.clone(), view = first.slice(0, 1, 2);
  fast(x);
  auto stale = [&](const char* operation, auto&& read) {
    std::string message = error_of(read);
    expect_contains(message, concat("[", operation, "] the tensor is output 0 of step 1"));
    bool knows_line = std::string_view(operation) != "compile";
    expect_contains(message, concat("step 2 has overwritten it",
                                    knows_line ? " (at compile_outputs_test.cpp:" : "; clone()"));
    expect_contains(message, "clone() it before the next call");
  };
  stale("to_vector", [&] { first.to_vector<float>(); });
  stale("item", [&] { view.item<float>(); });
  stale("data", [&] { first.data(); });
  stale("clone", [&] { first.clone(); });
  stale("add", [&] { first + 1; });
  stale("copy_from", [&] { x.copy_from(first); });
  stale("compile", [&] { fast(first); });
  EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{2, 4}));
}

// A result of the last step lies where the next one writes.
TEST(Compile, AResultMayBeAnArgumentOfTheNextStep) {
  Compiled fast = compile([](const Tensor& x) { return x + sum(x, {0}, true); },
                          {.mode = Mode::reduce_overhead});
  Tensor x = Tensor::from<float>({1, 2}, {2});
  for (int step = 0; step < 3; ++step) x = fast(x);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{40, 41}));
}

TEST(Compile, RefusesAnArgumentThatSharesMemoryWithOneThatAWholeGraphWrites) {
  Compiled add = compile(
      [](const Tensor& a, const Tensor& b) {
        Tensor target = a;
        target.copy_from(a + b);
        return target;
      },
      {.fullgraph = true});
  Tensor x = Tensor::from<float>({1, 2}, {2});
  const std::string said = error_of([&] { add(x, x); });
  expect_contains(said,
                  "shares memory with input 1: the function writes argument 0, with what is "
                  "computed at compile_outputs_test.cpp:");
  expect_contains(said, ", and uses argument 1 besides; pass a clone of one of them");
  // A value that no operation made has no line.
  Compiled copy = compile(
      [](const Tensor& a, const Tensor& b) {
        Tensor target = a;
        target.copy_from(b);
        return b + 1;
      },
      {.fullgraph = true});
  expect_contains(error_of([&] { copy(x, x); }),
                  "the function writes argument 0, and uses argument 1 besides;");
}

}  // namespace
}  // namespace tilewright::compile_outputs_test
