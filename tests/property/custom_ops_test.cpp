// Custom ops amid random graphs: a plan computes the graph's meaning, whatever stands around a
// kernel, C++ or a formula of the user's, and whatever its operands lie in.
#include <gtest/gtest.h>

#include "graph/custom/definition.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tests/property/expect_within.h"
#include "tests/property/plan_run.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::custom_ops_test {
namespace {

constexpr std::uint64_t cases = 200;

std::vector<TensorType> like_first(std::span<const TensorType> operands) { return {operands[0]}; }

// Each changes the sign of its operand and rounds nothing.
CustomReference by_kernel() {
  static const dsl::Kernel kernel(
      "negate", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar n, dsl::Constexpr block) {
        dsl::Desc from = dsl::make_desc(x, {n}, {1}), to = dsl::make_desc(y, {n}, {1});
        dsl::Tile first = dsl::program_id(0) * block;
        dsl::store(to, {first}, -dsl::load(from, {first}, {block}));
      });
  static const CustomReference op = [] {
    CustomDefinition definition;
    definition.name = "negated_by_kernel";
    definition.rule = like_first;
    definition.kernel =
        TileKernel{kernel, [](const CustomCall& call) {
                     const std::int64_t n = call.operand(0).count();
                     return TileLaunch{Grid(dsl::cdiv(n, 32)), {n, std::int64_t{32}}};
                   }};
    return define_custom(std::move(definition));
  }();
  return op;
}
// One that is seen to be elementwise.
CustomReference by_plain_kernel() {
  static const dsl::Kernel kernel(
      "negate_each", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar n, dsl::Constexpr block) {
        dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
        dsl::store(y + i, -dsl::load(x + i, i < n), i < n);
      });
  static const CustomReference op = [] {
    CustomDefinition definition;
    definition.name = "negated_by_plain_kernel";
    definition.rule = like_first;
    definition.kernel =
        TileKernel{kernel, [](const CustomCall& call) {
                     const std::int64_t n = call.operand(0).count();
                     return TileLaunch{Grid(dsl::cdiv(n, 32)), {n, std::int64_t{32}}};
                   }};
    return define_custom(std::move(definition));
  }();
  return op;
}
CustomReference by_buffers() {
  static const CustomReference op = [] {
    CustomDefinition definition;
    definition.name = "negated_by_buffers";
    definition.rule = like_first;
    definition.buffers = [](std::span<const BufferView> operands,
                            std::span<const BufferView> results) {
      dispatch(operands[0].type.dtype, [&](auto host) {
        using T = decltype(host);
        auto from = operands[0].elements<const T>();
        auto to = results[0].elements<T>();
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = T(-static_cast<float>(from[i]));
      });
    };
    return define_custom(std::move(definition));
  }();
  return op;
}
CustomReference by_formula() {
  static const CustomOp op =
      custom_op("negated_by_formula", elementwise([](dsl::Tile x) { return -x; }));
  return custom_named(op.name());
}

// Appends such an op behind some of the values, and each as one more output.
void add_custom_ops(Graph& graph, std::uint64_t seed) {
  GraphBuilder builder(graph);
  const CustomReference ops[] = {by_kernel(), by_plain_kernel(), by_buffers(), by_formula()};
  const std::size_t given = graph.nodes.size();
  std::uint64_t draw = seed;
  for (NodeId id = 0; id < given && graph.outputs.size() < 8; ++id) {
    const Node node = graph.node(id);
    const bool is_plain = node.dtype == f32 || node.dtype == f16 || node.dtype == bf16;
    draw = draw * 6364136223846793005 + 1442695040888963407;
    if (!is_plain || draw >> 62 != 0) continue;
    const CustomReference& op = ops[(draw >> 40) % 4];
    Attributes attributes;
    attributes.custom = op;
    NodeId first = builder.append(op->op(), {id}, attributes);
    graph.outputs.push_back(builder.append(Op::abs, {first}));
    attributes.custom = by_kernel();
    graph.outputs.push_back(builder.append(Op::custom, {first}, attributes));
  }
}

void expect_planned_is_meant(const PlanForm& form, std::uint64_t count) {
  int used = 0;
  const auto seeds = seeds_of_test(count);
  for (std::uint64_t seed : seeds) {
    RandomGraph random = random_graph(seed);
    add_custom_ops(random.graph, seed);
    for (const Node& node : random.graph.nodes) used += node.attributes.custom.is_defined() ? 1 : 0;
    EXPECT_EQ(print(parse(print(random.graph))), print(random.graph));
    Graph graph = run_passes(random.graph);
    BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
    SCOPED_TRACE(form.name);
    expect_within(expected, run_planned(graph, random.inputs, form),
                  [&] { return reproduction(seed) + "\n" + print(graph); });
    if (testing::Test::HasFailure()) return;
  }
  if (seeds.size() > 1) {
    EXPECT_GT(used, static_cast<int>(count) / 2);
  }
}

TEST(CustomOps, InterpretedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.interpret = true}, false, "interpreted"}, cases);
}
TEST(CustomOps, ComputeWhatTheGraphMeans) { expect_planned_is_meant({{}, false, "fused"}, cases); }
TEST(CustomOps, UnfusedAndRecordedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.fuse = false}, true, "unfused, recorded"}, cases / 4);
}
TEST(CustomOps, EmulatedComputeWhatTheGraphMeans) {
  for (const char* processor : {"sm_80", "sm_90a"})
    expect_planned_is_meant({{.device = Device::emulated(processor)}, false, processor}, cases / 8);
}

}  // namespace
}  // namespace tilewright::graph::custom_ops_test
