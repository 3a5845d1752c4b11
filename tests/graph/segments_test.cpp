// Functions whose graph breaks: they run in segments, compute what they compute op by op, and do
// what they do besides once a call.
#include "graph/compile/segments/segment_table.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "graph/compile/compile.h"
#include "graph/functions/log.h"
#include "tests/errors.h"
#include "tests/graph/control_flow.h"
#include "tests/tensors.h"

namespace tilewright::segments_test {
namespace {

using control_flow::Case;
using control_flow::Function;
using control_flow::Log;

Options quiet(Mode mode = Mode::default_) { return {.mode = mode, .tell_breaks = false}; }

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 2e-5 * std::max(1.0F, std::abs(expected[i]))) << i;
}

class ControlFlow : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Functions, ControlFlow, testing::ValuesIn(control_flow::cases()),
                         [](const auto& each) { return each.param.name; });

// Several calls with other data, so that paths and numbers change; results are held till the end.
void expect_as_eager(const Case& each, const Options& options) {
  Function eager = each.make(), traced = each.make();
  Log eager_log, log;
  Compiled fast = compile([&](const Tensor& x) { return traced(x, log); }, options);
  std::vector<Tensor> results;
  std::vector<std::vector<float>> expected;
  for (int call = 0; call < 6; ++call) {
    const float scale = call % 3 == 1 ? -0.02F : 0.01F * static_cast<float>(1 + call);
    Tensor x = ramp({8, 8}, scale);
    expected.push_back(eager(x, eager_log).to_vector<float>());
    results.push_back(fast(x));
    ASSERT_EQ(log.size(), eager_log.size()) << "at call " << call;
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    expect_close(results[i].to_vector<float>(), expected[i]);
  for (std::size_t i = 0; i < log.size(); ++i)
    ASSERT_NEAR(log[i], eager_log[i], 2e-5 * std::max(1.0, std::abs(eager_log[i]))) << i;
  EXPECT_FALSE(fast.report()[0].graph_break.empty());
}

TEST_P(ControlFlow, IsAsOpByOpWithEachSideEffectOnce) { expect_as_eager(GetParam(), quiet()); }
TEST_P(ControlFlow, IsAsOpByOpWhereLaunchesAreRecorded) {
  expect_as_eager(GetParam(), quiet(Mode::reduce_overhead));
}

Tensor branches(const Tensor& x) { return sum(x).item<float>() > 0 ? exp(x) * 2 : x * 3 - 1; }

std::size_t segments_of(const CompiledFunction& function) {
  std::size_t count = 0;
  for (const PlanReport& plan : function.report()) count += plan.segment.empty() ? 0 : 1;
  return count;
}

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
  expect_contains(told, "the graph breaks: item at segments_test.cpp:");
  EXPECT_EQ(told.find("the graph breaks"), told.rfind("the graph breaks")) << told;
  expect_contains(fast.explain(), "runs in segments, since the graph breaks: item at segments_t");
  expect_contains(fast.explain(), "segment to item at segments_test.cpp:");
  expect_contains(fast.dump(), "# segment to the end\n# signature: f32 2");
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

TEST(Segments, RunWhatCameBeforeAnExceptionOfTheFunction) {
  Tensor state = zeros({4}).clone(), kept;
  Compiled fast = compile(
      [&](const Tensor& x) {
        bool is_large = sum(x).item<float>() > 8;
        state.copy_from(state + x);
        kept = x * 2;
        if (is_large) throw std::runtime_error("too large");
        return x + 1;
      },
      quiet());
  for (int call = 1; call <= 3; ++call) {
    EXPECT_THROW(fast(full({4}, 3)), std::runtime_error);
    expect_near(state, full({4}, 3 * call));
    expect_near(kept, full({4}, 6));
  }
  expect_near(fast(full({4}, 1)), full({4}, 2));
}

// Effects of a function before it raises an exception happen, and once, as they do op by op.
TEST(Segments, RunWhatCameBeforeAnExceptionWithoutABreak) {
  for (bool fullgraph : {false, true}) {
    Tensor state = zeros({4}).clone(), kept;
    std::vector<std::vector<float>> logged;
    Compiled fast = compile(
        [&](const Tensor& x) -> Tensor {
          Tensor argument = x;
          log_callback(x + 1, [&](const Tensor& t) { logged.push_back(t.to_vector<float>()); });
          state.copy_from(state + x);
          argument.copy_from(x * 2);
          kept = x * 10;
          throw std::runtime_error("always");
        },
        {.fullgraph = fullgraph});
    for (int call = 1; call <= 3; ++call) {
      Tensor x = full({4}, call).clone();
      EXPECT_THROW(fast(x), std::runtime_error);
      expect_near(x, full({4}, 2 * call));
      expect_near(state, full({4}, call * (call + 1) / 2.0));
      expect_near(kept, full({4}, 20 * call));
      ASSERT_EQ(logged.size(), static_cast<std::size_t>(call));
      EXPECT_EQ(logged.back(), std::vector<float>(4, static_cast<float>(call + 1)));
    }
  }
}

TEST(Segments, LogWhatCameBeforeAnExceptionAfterABreak) {
  std::vector<float> logged;
  Compiled fast = compile(
      [&](const Tensor& x) -> Tensor {
        auto log = [&](const Tensor& t) { logged.push_back(t.item<float>()); };
        log_callback(sum(x), log);
        const float total = sum(x).item<float>();
        log_callback(sum(x * 2), log);
        if (total > 8) throw std::runtime_error("too large");
        return x;
      },
      quiet());
  EXPECT_THROW(fast(full({4}, 3)), std::runtime_error);
  fast(full({4}, 1));
  EXPECT_THROW(fast(full({4}, 4)), std::runtime_error);
  EXPECT_EQ(logged, (std::vector<float>{12, 24, 4, 8, 16, 32}));
}

// The second capture of a signature, after a handle has changed, is one that ends by an exception.
TEST(Segments, RunWhatCameBeforeAnExceptionOfALaterCapture) {
  Tensor state = zeros({4}).clone(), weight = full({4}, 1).clone();
  bool fails = false;
  Compiled fast = compile([&](const Tensor& x) {
    state.copy_from(state + x * weight);
    if (fails) throw std::runtime_error("later");
    return x + state;
  });
  fast(full({4}, 1));
  weight = full({4}, 10).clone();
  fails = true;
  EXPECT_THROW(fast(full({4}, 1)), std::runtime_error);
  expect_near(state, full({4}, 11));
  fails = false;
  expect_near(fast(full({4}, 1)), full({4}, 22));
  EXPECT_TRUE(fast.report()[0].graph_break.empty());
}

TEST(Segments, WriteArgumentsThatShareMemory) {
  auto writes = [](const Tensor& a, const Tensor& b) {
    bool is_large = sum(a).item<float>() > 0;
    Tensor target = a, before = b * 1;
    target.copy_from(a * 2 + (is_large ? 1 : 0));
    return b + before;
  };
  Compiled fast = compile(writes, quiet());
  for (int call = 0; call < 3; ++call) {
    Tensor x = full({4}, 1).clone(), y = full({4}, 1).clone();
    expect_near(fast(x, x), writes(y, y));
    expect_near(x, y);
  }
}

TEST(Segments, SeeWhatIsWrittenThroughAnAddress) {
  auto function = [](const Tensor& x) {
    Tensor y = x * 2;
    auto* elements = static_cast<float*>(y.data());
    Tensor before = y + 1;
    elements[0] = 100;
    Tensor after = y + 1;
    y.copy_from(y * 0.5);
    float first = elements[0];
    return cat({before, after, y * first}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({4})), function(ramp({4})));
}

// Nothing is recorded that the function could write: one graph reads it at the end.
TEST(Segments, AreNotNeededForMemoryWhoseAddressIsKnown) {
  Tensor state = ramp({4}).clone();
  auto function = [&](const Tensor& x) {
    const bool is_there = state.data() != nullptr;
    return x * 2 + state * (is_there ? 1 : 0);
  };
  Compiled fast = compile(function, {.tell_breaks = false});
  expect_near(fast(ramp({4})), function(ramp({4})));
  EXPECT_EQ(fast.report()[0].graph_break, "");
}

TEST(Segments, KeepViewsOfWhatTheyCompute) {
  auto function = [](const Tensor& x) {
    Tensor y = x + 1, row = y.select(0, 1), turned = y.transpose(0, 1);
    float first = row.to_vector<float>()[0];
    y.copy_from(y * 2 + first);
    return cat({row, turned.reshape({4}), turned.contiguous().reshape({4})}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({2, 2})), function(ramp({2, 2})));
}

TEST(Segments, GiveCopiesMemoryOfTheirOwn) {
  auto function = [](const Tensor& x) {
    Tensor same = x.clone(), twice = x * 2, again = twice.clone(), equal = x * 2;
    sum(x).item<float>();
    same.copy_from(same + 1);
    again.copy_from(again + 10);
    equal.copy_from(equal + 100);
    return cat({x, same, twice, again, equal}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({3})), function(ramp({3})));
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
