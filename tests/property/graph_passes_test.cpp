// Passes keep what random graphs compute.
#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph {
namespace {

constexpr std::uint64_t cases = 600;

// How to repeat what fails.
auto told(std::uint64_t seed, const Graph& graph) {
  return [&graph, seed] { return reproduction(seed) + "\n" + print(graph); };
}

TEST(RandomGraphs, AreLegalAndRepeatable) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    EXPECT_NO_THROW(verify(random.graph)) << reproduction(seed);
    EXPECT_EQ(content_hash(random.graph), content_hash(random_graph(seed).graph));
  }
}

TEST(RandomGraphs, UseEveryOpOfTheTable) {
  std::vector<int> uses(all_ops().size());
  int wide_products = 0, rounded_rows = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const Graph graph = random_graph(seed).graph;
    for (const Node& node : graph.nodes) {
      ++uses[static_cast<std::size_t>(node.op)];
      if (node.op == Op::matmul && node.dtype != graph.node(node.operands[0]).dtype)
        ++wide_products;
      if (node.op == Op::quantized_linear && node.attributes.int8_activations && node.shape[0] > 4)
        ++rounded_rows;
    }
  }
  EXPECT_GT(wide_products, 0);
  EXPECT_GT(rounded_rows, 0);
  // Those of the user's are in custom_ops_test.cpp.
  for (std::size_t op = 0; op < uses.size(); ++op)
    if (!all_ops()[op].reads.has(AttributeField::custom))
      EXPECT_GT(uses[op], 0) << all_ops()[op].name << " is never made";
}

TEST(RandomGraphs, EvaluatedInTheirOwnDtypesStayWithinTheErrorBounds) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    expect_within(bounded_evaluate(random.graph, random.inputs),
                  evaluate(random.graph, random.inputs, Rounding::exact_dtype),
                  told(seed, random.graph));
  }
}

TEST(GraphPasses, TheWholePipelineKeepsTheValues) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    Graph simple = run_passes(random.graph);
    expect_within(bounded_evaluate(random.graph, random.inputs),
                  evaluate(simple, random.inputs, Rounding::double_), told(seed, random.graph));
    expect_within(bounded_evaluate(random.graph, random.inputs),
                  evaluate(simple, random.inputs, Rounding::exact_dtype), told(seed, random.graph));
    for (const Node& node : simple.nodes) EXPECT_NE(info(node.op).kind, Kind::composite);
  }
}

TEST(GraphPasses, EachPassAloneKeepsTheValues) {
  for (std::uint64_t seed : seeds_of_test(cases / 2)) {
    RandomGraph random = random_graph(seed);
    BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      Graph simple = pass.run(random.graph);
      expect_within(expected, evaluate(simple, random.inputs, Rounding::double_),
                    told(seed, random.graph));
    }
  }
}

TEST(GraphPasses, ASecondRunChangesNothing) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Graph simple = run_passes(random_graph(seed).graph);
    EXPECT_EQ(print(run_passes(simple)), print(simple)) << reproduction(seed);
  }
}

TEST(GraphPasses, InputsAndTheNumberOfOutputsStay) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    Graph simple = run_passes(random.graph);
    ASSERT_EQ(simple.inputs.size(), random.graph.inputs.size()) << reproduction(seed);
    for (std::size_t i = 0; i < simple.inputs.size(); ++i)
      EXPECT_EQ(simple.node(simple.inputs[i]).shape, random.inputs[i].shape);
    EXPECT_EQ(simple.input_strides, random.graph.input_strides);
    EXPECT_LE(dead_code(random.graph).nodes.size(), random.graph.nodes.size());
  }
}

TEST(GraphText, RoundTripsExactlyOnRandomGraphs) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Graph graph = random_graph(seed).graph;
    Graph again = parse(print(graph));
    EXPECT_EQ(print(again), print(graph)) << reproduction(seed);
    EXPECT_EQ(content_hash(again), content_hash(graph)) << reproduction(seed);
  }
}

}  // namespace
}  // namespace tilewright::graph
