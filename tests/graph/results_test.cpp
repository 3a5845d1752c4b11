// Nodes of several results, from capture to launches.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/ops/decompositions.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::graph::results_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr const char* text_of_max =
    "graph {\n"
    "  %0: f32[4x6] = input\n"
    "  %1: f32[4x1], i64[4x1] = max %0 {axes=1}\n"
    "  %2: i64[4x1] = result %1 {index=1}\n"
    "  %3: f32[4x1] = exp %1\n"
    "  inputs %0\n"
    "  return %3 %2\n"
    "}\n";

// A graph over x: f32[4x6] (%0), returning the given nodes.
Graph graph_of(const std::string& body, const std::string& returned) {
  return parse("graph {\n%0: f32[4x6] = input\n" + body + "\ninputs %0\nreturn " + returned +
               "\n}\n");
}
void expect_equal(const Graph& got, const Graph& wanted) { EXPECT_EQ(print(got), print(wanted)); }

TEST(Results, AreTypesOfANodeAndNodesThatReadThem) {
  Graph graph;
  GraphBuilder builder(graph);
  Attributes attributes;
  attributes.axes = {1};
  NodeId both = builder.append(Op::max, {builder.input(f32, {4, 6})}, attributes);
  std::vector<NodeId> results = builder.results_of(both);
  graph.outputs = {builder.append(Op::exp, {both}), results[1]};
  EXPECT_EQ(results[0], both);
  EXPECT_EQ(print(graph), text_of_max);
  EXPECT_EQ(builder.results_of(graph.outputs[0]), (std::vector<NodeId>{graph.outputs[0]}));
}

TEST(Results, ReadBackFromText) {
  Graph graph = parse(text_of_max);
  EXPECT_EQ(print(graph), text_of_max);
  EXPECT_EQ(content_hash(parse(print(graph))), content_hash(graph));
  expect_contains(error_of([] { graph_of("%1: f32[4x1] = max %0 {axes=1}", "%1"); }),
                  "the results are f32[4x1], i64[4x1]");
  expect_contains(error_of([] { graph_of("%1: f32[4x6], f32[4x6] = exp %0", "%1"); }),
                  "the result is f32[4x6]");
}

TEST(Results, ArePartOfWhatAGraphMeansAndMustFollowTheRule) {
  Graph graph = parse(text_of_max), other = graph;
  other.nodes[1].others[0].dtype = i32;
  EXPECT_NE(content_hash(other), content_hash(graph));
  EXPECT_THROW(verify(other), InternalError);
  other = graph;
  other.nodes[2].attributes.index = 2;
  EXPECT_THROW(verify(other), InternalError);
  other = graph;
  other.nodes[1].others.clear();
  EXPECT_THROW(verify(other), InternalError);
}

TEST(Results, OfANodeThatHasNoneAreAnError) {
  expect_contains(error_of([] { graph_of("%1: f32[4x6] = result %0 {index=1}", "%1"); }),
                  "[result] the operand has one result, which is the operand itself");
  for (const char* index : {"0", "2", "-1"})
    expect_contains(error_of([&] {
                      graph_of(concat("%1: f32[4x1], i64[4x1] = max %0 {axes=1}\n"
                                      "%2: i64[4x1] = result %1 {index=",
                                      index, "}"),
                               "%2");
                    }),
                    concat("[result] index is ", index, "; the operand has results 0, which is "));
  // An operand of a result's own value knows nothing of the other results.
  EXPECT_NO_THROW(
      graph_of("%1: f32[4x1], i64[4x1] = max %0 {axes=1}\n%2: f32[1x1] = sum %1 {axes=0}", "%2"));
}

TEST(Results, OfEqualNodesAreEqual) {
  expect_equal(dead_code(common_subexpressions(graph_of("%1: f32[4x1], i64[4x1] = max %0 {axes=1}\n"
                                                        "%2: f32[4x1], i64[4x1] = max %0 {axes=1}\n"
                                                        "%3: i64[4x1] = result %1 {index=1}\n"
                                                        "%4: i64[4x1] = result %2 {index=1}\n"
                                                        "%5: i64[4x1] = add %3, %4",
                                                        "%2 %5"))),
               graph_of("%1: f32[4x1], i64[4x1] = max %0 {axes=1}\n"
                        "%2: i64[4x1] = result %1 {index=1}\n"
                        "%3: i64[4x1] = add %2, %2",
                        "%1 %3"));
}

TEST(Results, KeepTheirNodeAliveAndNotEachOther) {
  const char* used =
      "%1: f32[1x1], f32[1x1] = aminmax %0 {axes=0x1}\n%2: f32[1x1] = result %1 {index=1}";
  expect_equal(dead_code(graph_of(used, "%2")), graph_of(used, "%2"));
  expect_equal(dead_code(graph_of(used, "%1")),
               graph_of("%1: f32[1x1], f32[1x1] = aminmax %0 {axes=0x1}", "%1"));
  expect_equal(dead_code(graph_of(used, "%0")), graph_of("", "%0"));
}

TEST(Results, OfACompositeBecomeWhatComputesThem) {
  const std::string max =
      "%1: f32[4x1], i64[4x1] = max %0 {axes=1}\n%2: i64[4x1] = result %1 {index=1}";
  expect_equal(
      decompose(graph_of(max, "%1 %2")),
      graph_of("%1: f32[4x1] = amax %0 {axes=1}\n%2: i64[4x1] = argmax %0 {axes=1}", "%1 %2"));
  // Unused parts of it are removed.
  expect_equal(run_passes(graph_of(max, "%2")),
               graph_of("%1: i64[4x1] = argmax %0 {axes=1}", "%1"));
  expect_equal(run_passes(graph_of(max, "%1")), graph_of("%1: f32[4x1] = amax %0 {axes=1}", "%1"));
}

TEST(Results, OfAVarianceAndAMeanShareTheMean) {
  Graph graph = run_passes(graph_of(
      "%1: f32[4x1], f32[4x1] = var_mean %0 {axes=1, number=1}\n%2: f32[4x1] = result %1 {index=1}",
      "%1 %2"));
  auto sums = std::ranges::count(graph.nodes, Op::sum, &Node::op);
  EXPECT_EQ(sums, 3);  // of the elements, of deviations, of their squares
}

TEST(Results, AreRecordedWithTheLineAndTheOriginOfTheirNode) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {4, 6});
  auto [values, indices] = max(x, -1, true);
  Graph graph = capture.finish({exp(values), indices}).graph;
  EXPECT_EQ(print(graph), text_of_max);
  EXPECT_EQ(graph.node(2).origin.op, Op::max);
  EXPECT_EQ(graph.node(2).origin.node, 1U);
  EXPECT_EQ(graph.node(2).where.line(), graph.node(1).where.line());
}

TEST(Results, OfOneOpAreOneLaunch) {
  Tensor x = ramp({32, 50});
  for (auto function :
       {+[](const Tensor& t) { return max(t, 1); }, +[](const Tensor& t) { return min(t, -1); },
        +[](const Tensor& t) { return aminmax(t, 1); },
        +[](const Tensor& t) { return var_mean(t, {1}); }}) {
    auto fast = compile(function);
    auto [first, second] = fast(x);
    auto [first_at_once, second_at_once] = function(x);
    expect_near(first, first_at_once);
    expect_near(second.to(f32), second_at_once.to(f32));
    PlanReport plan = fast.report()[0];
    ASSERT_EQ(plan.regions.size(), 1U);
    EXPECT_EQ(plan.regions[0].user_ops.size(), 1U);
    expect_contains(fast.explain(), "1 launch of 1 distinct program;");
  }
  auto fast = compile([](const Tensor& t) { return max(t * 2, 1); });
  fast(x);
  EXPECT_EQ(fast.report()[0].regions.size(), 1U);
  EXPECT_EQ(fast.report()[0].regions[0].user_ops, (Names{"mul", "max"}));
}

TEST(Results, MadeAtOnceHaveMemoryOfTheirOwn) {
  Tensor x = Tensor::from(Floats{3, 1, 2}, {3, 1});
  auto [least, greatest] = aminmax(x, 1);  // both the operand's own elements
  least.copy_from(zeros({3}));
  EXPECT_EQ(greatest.to_vector<float>(), (Floats{3, 1, 2}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 1, 2}));
}

TEST(Results, OfWholeTensorsAndOfNumbersWithoutAxes) {
  auto [least, greatest] = aminmax(Tensor::from(Floats{3, -1, 2, 7}, {2, 2}));
  EXPECT_EQ(least.item<float>(), -1);
  EXPECT_EQ(greatest.item<float>(), 7);
  auto [value, index] = min(Tensor::scalar(5.0F), 0);
  EXPECT_EQ(value.item<float>(), 5);
  EXPECT_EQ(index.item<std::int64_t>(), 0);
  auto [values, indices] = max(Tensor::from(Integers{0, 1, 1}, {3}).to(DType::boolean), 0);
  EXPECT_EQ(values.dtype(), DType::boolean);
  EXPECT_EQ(indices.item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace tilewright::graph::results_test
