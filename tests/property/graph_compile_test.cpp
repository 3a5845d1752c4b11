// A plan computes the graph's meaning, for random graphs, in every way to make a plan.
#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tests/property/expect_within.h"
#include "tests/property/plan_run.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::graph_compile_test {
namespace {

constexpr std::uint64_t cases = 1000, emulated_cases = 500;

enum class Marks : std::uint8_t { none, random };

void expect_planned_is_meant(PlanForm form, std::uint64_t count, bool any_blocks = false,
                             Marks marks = Marks::none) {
  for (std::uint64_t seed : own_seeds_of_test(count)) {
    RandomGraph random = random_graph(seed);
    if (marks == Marks::random) mark_at_random(random.graph, seed);
    Graph graph = run_passes(random.graph);
    // Bounds of what was written: a decomposition may choose by comparisons that no bound decides.
    BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
    // Rows, columns, pieces, depths, splits and tails of sizes that divide nothing; and how far
    // ahead rows are fetched.
    auto size = [&](std::uint64_t most, std::uint64_t shift) {
      return static_cast<std::int64_t>(seed * 0x9e3779b97f4a7c15 >> shift & 0xff) %
             static_cast<std::int64_t>(most + 1);
    };
    if (any_blocks)
      form.options.blocks = {size(3, 56), size(5, 48),    1 + size(4, 40),
                             size(4, 32), size(3, 24),    0,
                             size(3, 16), size(4, 8) - 1, 0};
    if (form.options.interpret) form.options.shuffle_interpreted = seed;
    Evaluation actual;
    try {
      actual = run_planned(graph, random.inputs, form);
    } catch (const std::exception& error) {
      FAIL() << form.name << ": " << error.what() << "\n"
             << reproduction(seed) << "\n"
             << print(graph);
    }
    SCOPED_TRACE(form.name);
    expect_within(expected, actual, [&] { return reproduction(seed) + "\n" + print(graph); });
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PlannedGraphs, FusedAndInterpretedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.interpret = true}, false, "fused, interpreted"}, cases);
}
TEST(PlannedGraphs, UnfusedAndInterpretedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.fuse = false, .interpret = true}, false, "unfused, interpreted"},
                          cases);
}
TEST(PlannedGraphs, FusedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{}, false, "fused"}, cases);
}
TEST(PlannedGraphs, MarkedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.interpret = true}, false, "marked, interpreted"}, cases, false,
                          Marks::random);
  expect_planned_is_meant({{}, false, "marked"}, cases / 5, false, Marks::random);
}
TEST(PlannedGraphs, UnfusedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.fuse = false}, false, "unfused"}, cases / 5);
}
TEST(PlannedGraphs, RecordedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{}, true, "recorded"}, cases / 5);
}
TEST(PlannedGraphs, ForSizesThatVaryComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.sizes_vary = true}, false, "for sizes that vary"}, cases / 5);
}
TEST(PlannedGraphs, ForSizesThatVaryAndInterpretedComputeWhatTheGraphMeans) {
  expect_planned_is_meant(
      {{.interpret = true, .sizes_vary = true}, false, "for sizes that vary, interpreted"},
      cases / 2);
}
TEST(PlannedGraphs, FusedForSm80AndEmulatedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.device = Device::emulated("sm_80")}, false, "fused, sm_80"},
                          emulated_cases);
}
TEST(PlannedGraphs, FusedForSm90aAndEmulatedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.device = Device::emulated("sm_90a")}, false, "fused, sm_90a"},
                          emulated_cases);
}
TEST(PlannedGraphs, GpuProgramsOfAnyBlocksInterpretedComputeWhatTheGraphMeans) {
  expect_planned_is_meant(
      {{.interpret = true, .device = Device::emulated("sm_80")}, false, "blocks"}, cases, true);
}
TEST(PlannedGraphs, GpuProgramsOfAnyBlocksEmulatedComputeWhatTheGraphMeans) {
  expect_planned_is_meant({{.device = Device::emulated("sm_90a")}, false, "blocks, emulated"},
                          emulated_cases / 4, true);
}
TEST(PlannedGraphs, UnfusedForSm90aAndEmulatedComputeWhatTheGraphMeans) {
  expect_planned_is_meant(
      {{.fuse = false, .device = Device::emulated("sm_90a")}, false, "unfused, sm_90a"},
      emulated_cases / 4);
}

}  // namespace
}  // namespace tilewright::graph::graph_compile_test
