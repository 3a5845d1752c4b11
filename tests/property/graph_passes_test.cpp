// Passes keep what random graphs compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "graph/ir/text.h"
#include "graph/passes/frozen_part.h"
#include "graph/passes/known_range.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::graph_passes_test {
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

// Integers made of places, constants and each other by ops whose ranges are known, and conditions.
Graph random_integers(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  auto below = [&](std::uint64_t count) { return engine() % count; };
  Graph graph;
  GraphBuilder builder(graph);
  const Shape shape = {3, 8};
  Attributes order;
  order.end = 8;
  const NodeId x = builder.input(DType::f32, shape), given = builder.input(DType::i64, shape);
  std::vector<NodeId> integers = {builder.append(Op::argsort, {x}, order), given}, conditions;
  auto any = [&] { return integers[below(integers.size())]; };
  for (int i = 0; i < 40; ++i) {
    constexpr Op two[] = {Op::add,  Op::sub,     Op::mul,     Op::div,
                          Op::fmod, Op::minimum, Op::maximum, Op::bitwise_and};
    constexpr Op compared[] = {Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne};
    constexpr Op of_two[] = {Op::logical_and, Op::logical_or};
    const std::uint64_t dice = below(12);
    if (dice < 2) {
      const std::int64_t value = static_cast<std::int64_t>(below(40)) - 12;
      integers.push_back(builder.full(shape, ir::Scalar::of_integer(DType::i64, value)));
    } else if (dice < 7) {
      integers.push_back(builder.append(two[below(std::size(two))], {any(), any()}));
    } else if (dice < 8) {
      const NodeId narrow = builder.append(Op::to, {any()}, {}, DType::i8);
      integers.push_back(builder.append(Op::to, {narrow}, {}, DType::i64));
    } else if (dice < 10 || conditions.empty()) {
      conditions.push_back(builder.append(compared[below(std::size(compared))], {any(), any()}));
    } else if (dice < 11) {
      const NodeId a = conditions[below(conditions.size())], b = conditions.back();
      conditions.push_back(below(3) == 0 ? builder.append(Op::logical_not, {a})
                                         : builder.append(of_two[below(2)], {a, b}));
    } else {
      const NodeId condition = conditions[below(conditions.size())];
      integers.push_back(builder.append(Op::where, {condition, any(), any()}));
    }
  }
  graph.outputs = integers;
  graph.outputs.insert(graph.outputs.end(), conditions.begin(), conditions.end());
  return graph;
}

TEST(KnownRanges, HoldWhatIsComputed) {
  std::int64_t narrow = 0, decided = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    const Graph graph = random_integers(seed);
    std::mt19937_64 engine(seed);
    HostTensor x(DType::f32, {3, 8}), given(DType::i64, {3, 8});
    for (std::int64_t i = 0; i < x.count(); ++i) {
      x.set_number(i, static_cast<double>(engine() % 100));
      given.set(i, ir::Scalar::of_integer(DType::i64, static_cast<std::int64_t>(engine())));
    }
    const std::vector<HostTensor> inputs = {x, given};
    const std::vector<HostTensor> values = evaluate(graph, inputs, Rounding::exact_dtype).outputs;
    KnownRanges ranges(graph);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const NodeId id = graph.outputs[i];
      const KnownRange range = ranges.of(id);
      const auto truth =
          is_boolean(graph.node(id).dtype) ? ranges.truth_of(id) : std::optional<bool>();
      narrow += range.least > -1000 && range.greatest < 1000 && !is_boolean(graph.node(id).dtype);
      decided += truth.has_value();
      for (std::int64_t at = 0; at < values[i].count(); ++at) {
        const std::int64_t value = values[i].get(at).integer;
        ASSERT_TRUE(range.least <= value && value <= range.greatest)
            << "%" << id << " is " << value << "\n"
            << told(seed, graph)();
        if (truth) {
          EXPECT_EQ(value != 0, *truth) << "%" << id << "\n" << told(seed, graph)();
        }
      }
    }
    const std::vector<HostTensor> after =
        evaluate(decide_by_ranges(graph), inputs, Rounding::exact_dtype).outputs;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(is_same(values[i], after[i])) << told(seed, graph)();
  }
  EXPECT_GT(narrow, 10 * static_cast<std::int64_t>(cases) / 4);
  EXPECT_GT(decided, static_cast<std::int64_t>(cases));
}

TEST(RandomGraphs, AreLegalAndRepeatable) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    EXPECT_NO_THROW(verify(random.graph)) << reproduction(seed);
    EXPECT_EQ(content_hash(random.graph), content_hash(random_graph(seed).graph));
  }
}

// An input that the outline refused, since the bytes of its named sizes did not fit 63 bits, was
// left in the list of inputs, and the next one had its number.
TEST(RandomGraphs, AtSeveralSizesAreLegal) {
  constexpr std::array sizes = {NamedSizes{3, 5}, NamedSizes{4, 2}};
  for (std::uint64_t seed : seeds_of_test(cases)) {
    for (const RandomGraph& random : random_graph_at(seed, sizes))
      EXPECT_NO_THROW(verify(random.graph)) << reproduction(seed);
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
      Graph simple = pass.run(random.graph, dsl::host_target());
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
}  // namespace tilewright::graph::graph_passes_test
