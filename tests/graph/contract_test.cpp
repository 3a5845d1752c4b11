// Calls that no plan fits: why, whether and how many are compiled (graph/compile/calls/contract.h).
#include "graph/compile/calls/contract.h"

#include <gtest/gtest.h>

#include "graph/compile/calls/signature.h"
#include "graph/compile/compile.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/on_host.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::contract_test {
namespace {

using namespace testing_signatures;

// The only recompilation that the second call makes after the first.
Recompilation recompilation(const Tensor& first, const Tensor& second) {
  Compiled fast = compile(doubled, on_host());
  fast(first);
  EXPECT_TRUE(fast.recompilations().empty());
  expect_near(fast(second).to(DType::f32), (second * 2).to(DType::f32));
  EXPECT_EQ(fast.recompilations().size(), 1U);
  return fast.recompilations().at(0);
}

TEST(Recompilations, SayWhichAxisDiffers) {
  Recompilation why = recompilation(ramp({2, 3}), ramp({2, 4}));
  EXPECT_EQ(why.signature, "f32 2x4");
  ASSERT_EQ(why.differences.size(), 1U);
  EXPECT_EQ(why.differences[0].reason, RecompileReason::size);
  EXPECT_EQ(why.differences[0].argument, 0);
  EXPECT_EQ(why.differences[0].axis, 1);
  EXPECT_EQ(why.sentence(), "argument 0: axis 1 is 4, compiled for 3");
  EXPECT_GT(why.seconds, 0);
}

TEST(Recompilations, SayWhatElseDiffers) {
  EXPECT_EQ(recompilation(ramp({2}), ramp({2}).to(DType::f64)).sentence(),
            "argument 0: its dtype is f64, compiled for f32");
  EXPECT_EQ(recompilation(ramp({2}), ramp({2, 3})).sentence(),
            "argument 0: its shape is 2x3, compiled for 2");
  EXPECT_EQ(recompilation(ramp({2, 3}), ramp({3, 2}).transpose(0, 1)).sentence(),
            "argument 0: its strides are 1x2, compiled for 3x1");
  EXPECT_EQ(recompilation(ramp({2, 3}), ramp({4, 5}).to(DType::f64)).sentence(),
            "argument 0: its dtype is f64, compiled for f32; argument 0: axis 0 is 4, compiled for "
            "2; argument 0: axis 1 is 5, compiled for 3");
}

TEST(Recompilations, SayHowMemoryBegins) {
  const graph::ArgumentType known{f32, {4}, {1}, true};
  graph::ArgumentType call = known;
  call.is_aligned = false;
  const Recompilation why{.differences =
                              graph::differences({known}, {call}, {{0, "argument 0"}}, {})};
  EXPECT_EQ(why.sentence(),
            "argument 0: its memory begins anywhere, compiled for a multiple of 64 bytes");
}

TEST(Recompilations, CompareWithTheNearestPlan) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 3}));
  fast(ramp({2, 3}));
  fast(ramp({4, 5}));
  fast(ramp({4, 6}));
  EXPECT_EQ(fast.recompilations().at(1).sentence(), "argument 0: axis 1 is 6, compiled for 5");
  expect_contains(fast.explain(),
                  "compiled again:\n  (f32 4x5): argument 0: axis 0 is 4, compiled for 2; ");
}

TEST(Recompilations, SayThatAHandleChanged) {
  struct Scaled {
    Tensor weight = ramp({4});
    Tensor forward(const Tensor& x) { return x * weight; }
  } scaled;
  Compiled fast = compile(scaled, on_host());
  fast(ramp({4}));
  scaled.weight = ramp({1});  // of another size: another graph
  expect_near(fast(ramp({4})), ramp({4}) * scaled.weight);
  ASSERT_EQ(fast.recompilations().size(), 1U);
  EXPECT_EQ(fast.recompilations()[0].differences.at(0).reason, RecompileReason::handle);
  scaled.weight = ramp({1}) * 3;  // the same graph
  expect_near(fast(ramp({4})), ramp({4}) * scaled.weight);
  EXPECT_EQ(fast.recompilations().size(), 1U);
}

TEST(Recompilations, KeepTheLatest) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 1,
                                            .dynamic = Dynamic::never,
                                            .past_limit = PastLimit::replace_oldest}));
  for (int i = 0; i < 70; ++i) fast(ramp({1 + i % 2}));
  EXPECT_EQ(fast.recompilations().size(), 64U);
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(PastTheLimit, IsAnErrorThatNamesEachPlan) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 2, .dynamic = Dynamic::never}));
  fast(ramp({2}));
  fast(ramp({3}));
  std::string error = error_of([&] { fast(ramp({4})); });
  expect_contains(error, "2 signatures are compiled, which is the limit; this call, (f32 4)");
  expect_contains(error, "(f32 2): argument 0: axis 0 is 4, compiled for 2");
  expect_contains(error, "(f32 3): argument 0: axis 0 is 4, compiled for 3");
  expect_contains(error,
                  "\npass arguments of the same dtypes, shapes and strides, declare sizes that "
                  "change with mark_dynamic, raise Options::max_signatures, or choose another "
                  "Options::past_limit.");
}

TEST(PastTheLimit, NamesAFewPlansOfMany) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 5, .dynamic = Dynamic::never}));
  for (std::int64_t size : {1, 2, 3, 4, 5}) fast(ramp({size}));
  const std::string error = error_of([&] { fast(ramp({6})); });
  expect_contains(error, "(f32 3): argument 0: axis 0 is 6, compiled for 3\n  and 2 more\npass");
}

TEST(PastTheLimit, RunsOpByOpOnRequestAndSaysSoOnce) {
  int runs = 0;
  Compiled fast = counted(runs, {.max_signatures = 1, .past_limit = PastLimit::eager});
  fast(ramp({2}));
  testing::internal::CaptureStderr();
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({4})), ramp({4}) * 2);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(runs, 4);
  expect_contains(said, "[compile] 1 signatures are compiled, which is the limit: ");
  expect_contains(said,
                  "calls of others, as of (f32 4), run op by op, as Options::past_limit says");
  EXPECT_EQ(said.find("calls of others"), said.rfind("calls of others"));
  fast(ramp({2}));  // still by its plan
  EXPECT_EQ(runs, 4);
}

// Plans for sizes that change are none of the signatures that are counted.
TEST(PastTheLimit, CountsSignaturesWithoutSizes) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 1, .past_limit = PastLimit::eager}));
  for (std::int64_t size : {20, 30, 40}) fast(ramp({size}));
  EXPECT_EQ(fast.report().size(), 3U);
  testing::internal::CaptureStderr();
  fast(ramp({20}).to(i64));
  expect_contains(testing::internal::GetCapturedStderr(),
                  "[compile] 1 signatures are compiled, which is the limit: ");
}

TEST(PastTheLimit, ReplacesThePlanThatWasUsedLeastRecently) {
  int runs = 0;
  Compiled fast = counted(runs, {.max_signatures = 2, .past_limit = PastLimit::replace_oldest});
  fast(ramp({2}));
  fast(ramp({3}));
  fast(ramp({2}));
  fast(ramp({4}));  // in place of 3
  EXPECT_EQ(runs, 3);
  fast(ramp({2}));
  EXPECT_EQ(runs, 3);
  expect_near(fast(ramp({3})), ramp({3}) * 2);
  EXPECT_EQ(runs, 4);
}

TEST(Calls, NeedAFunctionAndTensorsThatAreThere) {
  expect_contains(error_of([] { CompiledFunction(nullptr, {}); }),
                  "[compile] the function is empty; pass a callable");
  Compiled fast = compile(doubled, on_host());
  expect_contains(error_of([&] { fast(Tensor()); }),
                  "[compile] argument 0 is undefined; every argument must be a tensor");
  std::vector<Tensor> kept;
  {
    graph::Capture capture;
    kept.push_back(capture.placeholder(f32, {2}));
  }
  expect_contains(error_of([&] { fast(kept[0]); }),
                  "[compile] argument 0 belongs to a capture that is over; pass a concrete tensor");
}

TEST(Log, SaysWhatItIsAskedFor) {
  Setting log("TILEWRIGHT_LOG", "recompiles,fusion,guards");
  testing::internal::CaptureStderr();
  Guarded<int> power(2, "power");
  Compiled fast =
      compile([&](const Tensor& x) { return power.get() == 2 ? x * x : x * x * x; }, on_host());
  fast(ramp({2}));
  fast(ramp({3}));
  std::string said = testing::internal::GetCapturedStderr();
  expect_contains(said,
                  "tilewright: [compile] recompiled for (f32 3): argument 0: axis 0 is 3, compiled "
                  "for 2\n");
  expect_contains(said, "tilewright: [compile] guards of (f32 2):\n  power is 2 (read at ");
  expect_contains(said, "1 launch of 1 distinct program");
}

// Words are looked at once a process.
TEST(LogDeathTest, NamesWordsThatItDoesNotKnow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Setting log("TILEWRIGHT_LOG", "breaks,recompile");
        compile(doubled, on_host())(ramp({2}));
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "\\[TILEWRIGHT_LOG\\] 'recompile' is ignored; it may hold recompiles, ");
}

// Without the topic, a break is logged once, at the first signature.
TEST(Log, TellsABreakOfEachSignature) {
  auto branches = [](const Tensor& x) { return sum(x, {0}).item<float>() > 0 ? x * 2 : x * 3; };
  auto said = [&] {
    testing::internal::CaptureStderr();
    Compiled fast = compile(branches, on_host());
    fast(ramp({2}));
    fast(ramp({3}));
    std::string text = testing::internal::GetCapturedStderr();
    return text.find("the graph breaks") != text.rfind("the graph breaks");
  };
  EXPECT_FALSE(said());
  Setting log("TILEWRIGHT_LOG", "breaks");
  EXPECT_TRUE(said());
}

}  // namespace
}  // namespace tilewright::contract_test
