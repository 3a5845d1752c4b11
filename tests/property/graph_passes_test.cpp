// Passes keep what random graphs compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/ir/text.h"
#include "graph/passes/frozen_part.h"
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

// Bit for bit, but for what kind of NaN one is.
bool is_same(const HostTensor& a, const HostTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.integer == b.integer &&
         std::ranges::equal(a.floating, b.floating, [](double x, double y) {
           return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
         });
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

// Also where each input has other elements than its frozen neighbours.
TEST(FrozenPart, AndTheRestComputeWhatTheGraphDoes) {
  int split = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    const Graph whole = run_passes(random.graph);
    std::mt19937_64 generator(seed);
    std::vector<bool> is_frozen;
    for (NodeId input : whole.inputs)
      is_frozen.push_back(generator() % 4 != 0 &&
                          std::ranges::find(whole.mutations, input, &Mutation::input) ==
                              whole.mutations.end());
    std::optional<FrozenPart> part = split_frozen_part(whole, is_frozen);
    if (!part) continue;
    ++split;
    verify(part->rest, Stage::primitive);
    verify(part->values, Stage::primitive);
    std::vector<HostTensor> weights, inputs = random.inputs;
    for (std::size_t from : part->from) {
      EXPECT_TRUE(is_frozen[from]) << reproduction(seed);
      weights.push_back(random.inputs[from]);
    }
    for (HostTensor& value : evaluate(part->values, weights, Rounding::exact_dtype).outputs)
      inputs.push_back(std::move(value));
    const Evaluation now = evaluate(part->rest, inputs, Rounding::exact_dtype),
                     expected = evaluate(whole, random.inputs, Rounding::exact_dtype);
    EXPECT_LT(part->rest.nodes.size() - part->rest.inputs.size(),
              whole.nodes.size() - whole.inputs.size())
        << reproduction(seed);
    for (std::size_t i = 0; i < expected.outputs.size(); ++i)
      EXPECT_TRUE(is_same(now.outputs[i], expected.outputs[i])) << reproduction(seed);
    for (std::size_t i = 0; i < expected.mutated.size(); ++i)
      EXPECT_TRUE(is_same(now.mutated[i], expected.mutated[i])) << reproduction(seed);
  }
  EXPECT_GT(split, 60);
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
