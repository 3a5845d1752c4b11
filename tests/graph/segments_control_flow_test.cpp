// Functions whose control flow depends on data run in segments, and compute the same as op by op.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/graph/broken_graphs.h"
#include "tests/graph/control_flow.h"
#include "tests/tensors.h"

namespace tilewright::segments_control_flow_test {
namespace {

using namespace testing_segments;

using control_flow::Case;
using control_flow::Function;
using control_flow::Log;

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

}  // namespace
}  // namespace tilewright::segments_control_flow_test
