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

// As derivatives choose: by what was computed, with infinities, and with NaN that is not taken.
TEST(ErrorBound, OfChoicesHoldsForBothSides) {
  Graph graph = parse(
      "graph {\n%0: f32[1] = input\n%1: f32[1] = exp %0\n%2: f32[1] = exp %0\n"
      "%3: f32[1] = sub %1, %2\n%4: f32[1] = full {number=0}\n"
      "%5: bool[1] = gt %3, %4\n%6: f32[1] = where %5, %1, %4\n%7: f32[1] = neg %1\n"
      "%8: f32[1] = maximum %7, %4\n%9: f32[1] = full {number=-inf}\n"
      "%10: f32[1] = sub %9, %1\n%11: f32[1] = exp %10\n%12: f32[1] = mul %9, %4\n"
      "%13: bool[1] = ne %12, %12\n%14: f32[1] = where %13, %1, %12\n"
      "inputs %0\nreturn %6 %8 %11 %14\n}\n");
  HostTensor x(f32, {1});
  x.floating = {1};
  auto bounds = [&](Choices choices) {
    std::vector<double> errors;
    const auto values = bound_nodes(graph, std::span<const HostTensor>(&x, 1), choices);
    for (NodeId id : graph.outputs) errors.push_back(values[id].error[0]);
    return errors;
  };
  const auto bounded = bounds(Choices::bounded), avoided = bounds(Choices::avoided);
  EXPECT_NEAR(bounded[0], std::exp(1.0), 1e-5);
  EXPECT_EQ(bounded[1], 0);
  EXPECT_LT(bounded[2], 1e-30);
  EXPECT_LT(bounded[3], 1e-5);
  EXPECT_TRUE(std::isinf(avoided[0]));
  EXPECT_GT(avoided[1], 0);
}

// A product of a zero with what has no bound, which a cast follows.
TEST(ErrorBound, StaysInfiniteInProducts) {
  Graph graph = parse(
      "graph {\n%0: f32[1x1] = input\n%1: f32[1x1] = exp %0\n%2: f32[1x1] = sub %1, %1\n"
      "%3: f32[1x1] = div %0, %2\n%4: f32[1x1] = matmul %3, %0\n%5: f16[1x1] = to %4\n"
      "inputs %0\nreturn %5\n}\n");
  const HostTensor zero(f32, {1, 1});
  EXPECT_TRUE(std::isinf(bounded_evaluate(graph, {&zero, 1}).outputs[0].error[0]));
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
