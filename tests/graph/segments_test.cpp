// Functions whose graph breaks: they run in segments, compute what they compute op by op, and do
// what they do besides once a call.
#include "graph/compile/segments/segment_table.h"

#include <gtest/gtest.h>

#include <future>

#include "graph/compile/compile.h"
#include "graph/functions/log.h"
#include "tests/errors.h"
#include "tests/graph/broken_graphs.h"
#include "tests/graph/control_flow.h"
#include "tests/tensors.h"

namespace tilewright::segments_test {
namespace {

using namespace testing_segments;

TEST(Segments, AreFoundAgainByWhatTheyCompute) {
  Compiled fast = compile(branches, quiet());
  Tensor x = ramp({4, 4}, 0.1F), y = -x;
  for (int turn = 0; turn < 3; ++turn) {
    expect_near(fast(x), branches(x));
    expect_near(fast(y), branches(y));
  }
  EXPECT_EQ(segments_of(fast), 3U);
  EXPECT_EQ(fast.report()[0].captures, 0);
}

TEST(Segments, TakeNumbersThatWereReadAsData) {
  Compiled fast =
      compile([](const Tensor& x) { return (x * 2 - amax(x).item<float>() + 0.5) * 3; }, quiet());
  for (int call = 1; call < 12; ++call) {
    Tensor x = ramp({5}, 0.01F * static_cast<float>(call));
    EXPECT_EQ(fast(x).to_vector<float>(),
              ((x * 2 - amax(x).item<float>() + 0.5) * 3).to_vector<float>());
  }
  EXPECT_EQ(segments_of(fast), 2U);
}

TEST(Segments, AreReportedDumpedAndTold) {
  testing::internal::CaptureStderr();
  Compiled fast = compile(branches), silent = compile(branches, quiet());
  for (int size : {2, 3}) {
    fast(full({size}, 1));
    silent(full({size}, 1));
  }
  std::string told = testing::internal::GetCapturedStderr();
  expect_contains(told, "the graph breaks: item at broken_graphs.h:");
  EXPECT_EQ(told.find("the graph breaks"), told.rfind("the graph breaks")) << told;
  expect_contains(fast.explain(),
                  "runs in segments, since the graph breaks: item at broken_graphs.h:");
  expect_contains(fast.explain(), "segment to item at broken_graphs.h:");
  expect_contains(fast.dump(), "# segment to the end\n# signature: f32 2");
}

TEST(Segments, NameTheLineThatPrints) {
  Compiled fast = compile(
      [](const Tensor& x) { return x * static_cast<double>(to_string(x * 2).size()); }, quiet());
  fast(full({2}, 1));
  expect_contains(fast.explain(), "the graph breaks: to_string at segments_test.cpp:");
  Compiled whole =
      compile([](const Tensor& x) { return x * static_cast<double>(to_string(x).size()); },
              {.fullgraph = true});
  expect_contains(error_of([&] { whole(full({2}, 1)); }),
                  "print() and log_callback() show a value");
}

TEST(Segments, NameEachBreak) {
  Compiled fast = compile(
      [](const Tensor& x) {
        if (sum(x).item<float>() > 0) return x * 2;
        return (x + 1).to_vector<float>()[0] > 0 ? x : -x;
      },
      quiet());
  fast(full({2}, 1));
  EXPECT_EQ(fast.report()[0].graph_break.find("to_vector at"), std::string::npos);
  fast(full({2}, -1));
  expect_contains(fast.report()[0].graph_break, ", to_vector at segments_test.cpp:");
}

TEST(Segments, DoWhatTheFunctionDoesBesidesOnceACall) {
  int begins = 0, ends = 0;
  Compiled fast = compile(
      [&](const Tensor& x) {
        ++begins;
        Tensor y = branches(x * 2);
        ++ends;
        return y;
      },
      quiet());
  for (int call = 1; call <= 3; ++call) {
    fast(ramp({4}));
    EXPECT_EQ(begins, call);
    EXPECT_EQ(ends, call);
  }
}

TEST(Segments, AreOneCallWithCompiledFunctionsInThem) {
  Compiled inner = compile([](const Tensor& x) { return tanh(x) * 2; }, quiet());
  Compiled outer = compile([&](const Tensor& x) { return inner(branches(inner(x))); }, quiet());
  for (int call = 0; call < 3; ++call)
    expect_near(outer(ramp({4})), tanh(branches(tanh(ramp({4})) * 2)) * 2);
  EXPECT_TRUE(inner.report().empty());
}

TEST(Segments, StayWithinABound) {
  Compiled fast = compile(
      [](const Tensor& x, const Tensor& count) {
        Tensor y = x;
        for (std::int64_t i = count.item<std::int64_t>(); i > 0; --i) y = y * 0.5 + 1;
        return y;
      },
      quiet());
  Tensor x = ramp({4});
  for (int turn = 0; turn < 3; ++turn)
    for (std::int64_t count = 0; count < 80; ++count) {
      Tensor expected = x;
      for (std::int64_t i = 0; i < count; ++i) expected = expected * 0.5 + 1;
      expect_near(fast(x, Tensor::scalar(count)), expected);
    }
  EXPECT_LE(segments_of(fast), 64U);
}

TEST(Segments, ArePlansThatAStanceForbids) {
  Compiled fast = compile(branches, quiet());
  Tensor x = full({4}, 1), y = full({4}, -1);
  fast(x);
  {
    StanceScope stance(Stance::eager_on_recompile);
    expect_near(fast(x), branches(x));
    expect_near(fast(y), branches(y));
  }
  EXPECT_EQ(segments_of(fast), 2U);
  {
    StanceScope stance(Stance::fail_on_recompile);
    expect_near(fast(x), branches(x));
    expect_contains(error_of([&] { fast(y); }),
                    "the stance is fail_on_recompile, and the function comes to a segment that was "
                    "not compiled before, the one to the end; make calls that go this way before "
                    "the stance is set");
  }
  expect_near(fast(y), branches(y));
  EXPECT_EQ(segments_of(fast), 3U);
}

TEST(Segments, GuardWhatIsReadBeforeTheFirstBreak) {
  Guarded<bool> reads(false, "reads");
  auto function = [&](const Tensor& x) { return reads.get() ? branches(x) : x * 2; };
  Compiled fast = compile(function, quiet());
  for (bool value : {false, true, false, true}) {
    reads = value;
    expect_near(fast(ramp({4})), function(ramp({4})));
  }
  ASSERT_EQ(fast.recompilations().size(), 1U);
  EXPECT_EQ(fast.recompilations()[0].differences.at(0).reason, RecompileReason::guard);
  EXPECT_TRUE(fast.report()[0].graph_break.empty());
  EXPECT_FALSE(fast.report()[1].graph_break.empty());
}

TEST(Segments, AreRepeated) {
  Tensor state = zeros({2}).clone();
  Compiled fast = compile(
      [&](const Tensor& x) {
        state.copy_from(state + x);
        return state * (sum(state).item<float>() > 5 ? 10 : 1);
      },
      quiet());
  expect_near(fast.repeat(3, {full({2}, 1)})[0], full({2}, 30));
  expect_near(fast.repeat(2, {full({2}, 1)})[0], full({2}, 50));
}

TEST(Segments, ServeSeveralThreads) {
  Compiled fast = compile(branches, quiet());
  auto differs = [&](float scale) {
    Tensor x = ramp({4, 4}, scale);
    const std::vector<float> expected = branches(x).to_vector<float>();
    for (int call = 0; call < 50; ++call)
      if (relative_difference(fast(x).to_vector<float>(), expected) > 1e-5) return true;
    return false;
  };
  std::vector<std::future<bool>> threads;
  for (float scale : {0.1F, -0.1F, 0.2F, -0.2F})
    threads.push_back(std::async(std::launch::async, differs, scale));
  for (std::future<bool>& thread : threads) EXPECT_FALSE(thread.get());
  EXPECT_EQ(segments_of(fast), 3U);
}

TEST(Segments, GiveResultsThatOutliveTheFunction) {
  Tensor result;
  {
    Compiled fast = compile(branches, quiet(Mode::reduce_overhead));
    fast(ramp({4}));
    result = fast(ramp({4}));
  }
  expect_near(result, branches(ramp({4})));
}

// A handle that is given back is not read, whatever its memory holds by now.
TEST(Segments, GiveBackResultsThatMayNotBeRead) {
  Tensor x = ramp({4}).to(default_device());
  Compiled step = compile([](const Tensor& t) { return t * 2; }, quiet(Mode::reduce_overhead));
  Tensor old = step(x);
  static_cast<void>(step(x));
  ASSERT_THROW(old.to_vector<float>(), Error);
  auto fast = compile(
      [&](const Tensor& t) {
        return std::vector<Tensor>{t * sum(t).item<float>(), old};
      },
      quiet());
  for (int call = 0; call < 2; ++call) EXPECT_EQ(fast(x)[1].shape(), x.shape());
}

// A tensor that is not held by the function at its next break must not be computed.
TEST(Segments, ComputeWhatIsHeldAlone) {
  Compiled fast = compile(
      [](const Tensor& x) {
        { Tensor unused = exp(x) * 2; }
        Tensor y = x * 3;
        return sum(y).item<float>() > 0 ? y : x;
      },
      quiet());
  expect_near(fast(full({4}, 1)), full({4}, 3));
  for (const PlanReport& plan : fast.report())
    for (const RegionReport& region : plan.regions)
      for (const std::string& op : region.ops) EXPECT_NE(op, "exp");
}

}  // namespace
}  // namespace tilewright::segments_test
