#include "tests/property/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/text.h"
#include "tests/property/random_graph.h"

namespace tilewright::graph::error_bound_test {
namespace {

TEST(ErrorBound, OfASumIsThatOfItsDepthAndMagnitude) {
  Graph graph =
      parse("graph {\n%0: f32[8] = input\n%1: f32[1] = sum %0 {axes=0}\ninputs %0\nreturn %1\n}\n");
  HostTensor x(f32, {8});
  x.floating = {1, -1, 1, -1, 1, -1, 1, -1};
  double u = 0x1p-24, bound = bounded_evaluate(graph, {&x, 1}).outputs[0].error[0];
  EXPECT_GE(bound, 8 * u * 8);
  EXPECT_LE(bound, 8 * u * 8 * 1.001);
}

TEST(ErrorBound, IsInfiniteWhereRoundingCouldDecide) {
  Graph graph = parse(
      "graph {\n%0: f32[1] = input\n%1: f32[1] = exp %0\n%2: f32[1] = exp %0\n"
      "%3: f32[1] = neg %2\n%4: f32[1] = add %1, %3\n%5: f32[1] = floor %4\n"
      "inputs %0\nreturn %5 %4\n}\n");
  HostTensor x(f32, {1});
  x.floating = {1};
  BoundedEvaluation result = bounded_evaluate(graph, {&x, 1});
  EXPECT_TRUE(std::isinf(result.outputs[0].error[0]));
  EXPECT_LT(result.outputs[1].error[0], 1e-5);
}

TEST(ErrorBound, OfIntegersIsMovedWithThem) {
  Graph graph = parse(
      "graph {\n%0: f32[1x2] = input\n%1: f32[1x2] = exp %0\n%2: f32[1x2] = log %1\n"
      "%3: i32[1x2] = to %2\n%4: i32[2x1] = permute %3 {axes=1x0}\ninputs %0\nreturn %4\n}\n");
  HostTensor x(f32, {1, 2});
  x.floating = {0.5, 1};
  BoundedTensor result = bounded_evaluate(graph, {&x, 1}).outputs[0];
  EXPECT_EQ(result.error[0], 0);
  EXPECT_TRUE(std::isinf(result.error[1]));
}

// The bound must not be so wide that it hides a wrong result.
TEST(ErrorBound, IsTightEnoughToSeeASmallMistake) {
  int seen = 0, tried = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomGraph random = random_graph(seed);
    BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
    for (const BoundedTensor& output : expected.outputs) {
      if (output.value.dtype != f32) continue;
      HostTensor wrong = output.value;
      wrong.floating[0] += 1e-3 * std::max(1.0, std::abs(wrong.floating[0]));
      ++tried;
      seen += violation(output, wrong).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(tried, 100);
  EXPECT_GT(seen, tried * 9 / 10);
}

TEST(ErrorBound, SeesNaNAndOtherTypes) {
  HostTensor x(f32, {1}), other(f32, {2}), nan(f32, {1});
  nan.floating = {NAN};
  BoundedTensor expected{x, {1}};
  EXPECT_EQ(violation(expected, x), "");
  EXPECT_NE(violation(expected, nan), "");
  EXPECT_NE(violation(expected, other), "");
}

}  // namespace
}  // namespace tilewright::graph::error_bound_test
