// Reports about a compiled function: report() and explain().
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::explain_test {
namespace {

using Names = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Explain, NamesKernelsAsDumpsDoAndOpsAsTheUserWroteThem) {
  Compiled fast = compile([](const Tensor& x) { return softmax(relu(x) * 2, -1); });
  fast(ramp({4, 8}));
  PlanReport plan = fast.report()[0];
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].user_ops, (Names{"relu", "mul", "softmax"}));
  EXPECT_GT(plan.regions[0].ops.size(), 3u);
  std::string text = fast.explain();
  expect_contains(text, plan.regions[0].kernel);
  expect_contains(fast.dump(), plan.regions[0].kernel);
  for (const char* part : {"graph {\n", "}\ntasks {\n", "}\nregions {\n", "func @"})
    expect_contains(fast.dump(), part);
  expect_contains(text, "relu mul softmax: ");
  expect_contains(text, "1 launch of 1 distinct program;");
  expect_contains(text, "matmul precision highest");
}

// An op that is its own decomposition is not listed twice, and each call of one is one.
TEST(Explain, TellsOpsOfTheUserOnce) {
  Compiled fast = compile([](const Tensor& x) { return exp(relu(relu(x) - 1)); });
  fast(ramp({8}));
  EXPECT_EQ(fast.report()[0].regions[0].user_ops, (Names{"relu", "sub", "relu", "exp"}));
  Compiled plain = compile([](const Tensor& x) { return exp(x) + 1; });
  plain(ramp({8}));
  expect_contains(plain.explain(), "  exp add\n");
}

TEST(Explain, SaysWhereTheTimeOfTheFirstCallsWentAndOfNoOthers) {
  TILEWRIGHT_ON_THE_HOST_ONLY("times that say something");
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled fast = compile(
        [](const Tensor& x) { return sum(sum(exp(x), {1}, true) * x, {0}) + 1; }, {.mode = mode});
    Tensor x = ramp({256, 256});
    for (std::int64_t call = 1; call <= 6; ++call) {
      fast(x);
      EXPECT_EQ(fast.report()[0].timed_calls, std::min<std::int64_t>(call, 4));
    }
    PlanReport plan = fast.report()[0];
    double sum_of_kernels = 0;
    for (const RegionReport& region : plan.regions) {
      EXPECT_GT(region.run_seconds, 0) << region.kernel;
      sum_of_kernels += region.run_seconds;
    }
    EXPECT_GE(plan.regions.size(), 2u);
    EXPECT_DOUBLE_EQ(plan.run_seconds, sum_of_kernels);
    expect_contains(fast.explain(), "each its least of 4 calls");
  }
}

TEST(Explain, MeasuresWhereAsked) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Tensor state = full({4}, 1);
    Compiled fast = compile(
        [state](const Tensor& x) mutable {
          state.copy_from(state + x);
          return state * 2;
        },
        {.mode = mode});
    Tensor x = full({4}, 1);
    fast.measure({x}, 7);
    EXPECT_EQ(fast.report()[0].timed_calls, 7);
    EXPECT_GT(fast.report()[0].run_seconds, 0);
    expect_near(state, full({4}, 8));
    expect_near(fast(x), full({4}, 18));
    expect_contains(error_of([&] { fast.measure({x}, 0); }), "[measure] calls is 0");
  }
}

// Compiling is what this function did, not what another one did before it.
TEST(Explain, AKernelThatWasKnownTookNoTimeToCompile) {
  auto function = [](const Tensor& x) { return tanh(sigmoid(x * 1.2345) + exp(x)) * 0.777; };
  Compiled first = compile(function), second = compile(function);
  first(ramp({333}));
  second(ramp({333}));
  double made = first.report()[0].regions[0].compile_seconds;
  double found = second.report()[0].regions[0].compile_seconds;
  EXPECT_GT(made, 0);  // less than a millisecond where an earlier process has kept the kernel
  EXPECT_LT(found, made / 5);
  EXPECT_LE(found, second.report()[0].compile_seconds);
}

TEST(Explain, AGraphBreakIsToldOnceWithTheLineAndWhatItCosts) {
  Compiled fast = compile([](const Tensor& x) { return x * sum(x).item<float>(); });
  testing::internal::CaptureStderr();
  fast(ramp({4}));
  fast(ramp({4}));
  fast(ramp({5}));
  std::string told = testing::internal::GetCapturedStderr();
  expect_contains(told, "tilewright: [compile] the graph breaks: item at explain_test.cpp:");
  expect_contains(told, "runs in segments for the signature (f32 4");
  EXPECT_EQ(told.find("the graph breaks"), told.rfind("the graph breaks")) << told;
  const std::vector<PlanReport> plans = fast.report();
  ASSERT_EQ(plans.size(), 6U);  // two signatures, with two segments each
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(contains(plans[i].graph_break, "item at explain_test.cpp:"), i < 2);
    EXPECT_EQ(plans[i].segment.empty(), i < 2);
  }
  expect_contains(fast.explain(), "2 of at most 8 signatures");
  expect_contains(fast.explain(), "runs in segments, since the graph breaks: item at explain_test");
  expect_contains(fast.explain(), "segment to item at explain_test.cpp:");
  expect_contains(fast.explain(), "segment to the end (");
  EXPECT_FALSE(contains(fast.explain(), "0 nodes"));
  // Segments are not captured: they are recorded while the function runs.
  EXPECT_FALSE(contains(fast.explain(), "captured in")) << fast.explain();
  expect_contains(fast.explain(), "\n  fused and lowered in ");
}

TEST(Explain, AnErrorOfFullgraphSaysWhatFitsItsCause) {
  auto error_with = [](auto&& read) {
    Compiled whole = compile(
        [&](const Tensor& x) {
          read(x);
          return x;
        },
        {.fullgraph = true});
    return error_of([&] { whole(ramp({1})); });
  };
  std::string item = error_with([](const Tensor& x) { x.item<float>(); });
  expect_contains(item, "breaks the graph, but fullgraph was asked for");
  expect_contains(item, "express a choice with where()");
  std::string data = error_with([](const Tensor& x) { x.data(); });
  expect_contains(data, "hand addresses to kernels and libraries outside the compiled function");
  EXPECT_FALSE(contains(data, "where()"));
  std::string list = error_with([](const Tensor& x) { x.to_vector<float>(); });
  expect_contains(list, "return the tensor and read it outside");
  EXPECT_FALSE(contains(list, "where()"));
}

TEST(Explain, LinesOfTuningAddUp) {
  TILEWRIGHT_ON_THE_HOST_ONLY("tuning");
  Setting policy("TILEWRIGHT_TUNE", "read");
  Tensor weight = ramp({64, 48});
  Compiled fast = compile(
      [&](const Tensor& x) { return sum(linear(exp(x), weight), {0}) + arange(0, 64).to(f32); },
      {.mode = Mode::max_autotune});
  fast(ramp({80, 48}));
  PlanReport plan = fast.report()[0];
  int total = 0;
  for (const char* at = plan.tuning.c_str(); *at != 0; ++at)
    if (*at >= '1' && *at <= '9') total += *at - '0';
  EXPECT_EQ(total, static_cast<int>(plan.regions.size())) << plan.tuning;
}

TEST(Explain, AConstantOfZeroPrintsItsNumber) {
  Compiled fast = compile([](const Tensor& x) { return cat({x, zeros({1, 8})}, 0); });
  fast(ramp({4, 8}));
  std::string dump = fast.dump();
  expect_contains(dump, "= full {number=0}");
  std::string text = "graph {\n  %0: f32[2] = full {number=0}\n  inputs\n  return %0\n}\n";
  EXPECT_EQ(graph::print(graph::parse(text)), text);
}

TEST(Explain, SaysTimesInTheUnitThatSuitsThem) {
  std::string text =
      explain(PlanReport{.capture_seconds = 5e-4, .lower_seconds = 0.25, .compile_seconds = 2.5});
  expect_contains(text, "captured in 500 us, fused and lowered in 250 ms, compiled in 2.50 s");
}

}  // namespace
}  // namespace tilewright::explain_test
