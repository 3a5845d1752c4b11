// Each graph pass on small programs: these two become equal, and these stay as they are.
#include "graph/passes/passes.h"

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "tests/errors.h"
#include "tests/graph/pass_programs.h"
#include "tests/setting.h"

namespace tilewright::graph::passes_test {
namespace {

using namespace testing_passes;

TEST(CommonSubexpressions, ComputesEqualValuesOnce) {
  expect_equal(dead_code(common_subexpressions(
                   graph_of("%2: f32[4x6] = exp %0\n%3: f32[4x6] = exp %0\n"
                            "%4: f32[4x6] = add %0, %2\n%5: f32[4x6] = add %3, %0\n"
                            "%6: f32[4x6] = mul %4, %5",
                            6))),
               graph_of("%2: f32[4x6] = exp %0\n%3: f32[4x6] = add %0, %2\n"
                        "%4: f32[4x6] = mul %3, %3",
                        4));
}

TEST(CommonSubexpressions, KeepsWhatDiffersInAnAttributeOrInOrder) {
  const char* body =
      "%2: f32[4x1] = sum %0 {axes=1}\n%3: f32[1x6] = sum %0 {axes=0}\n"
      "%4: f32[4x6] = exp %0\n%5: f32[4x6] = sub %0, %4\n%6: f32[4x6] = sub %4, %0\n"
      "%7: f32[2x6] = slice %0 {axes=0, end=2}\n%8: f32[2x6] = slice %0 {axes=0, start=1, end=3}";
  expect_equal(common_subexpressions(graph_of(body, 8)), graph_of(body, 8));
}

TEST(DeadCode, KeepsInputsOutputsAndWhatIsWritten) {
  Graph graph = graph_of("%2: f32[4x6] = exp %0\n%3: f32[4x6] = neg %0\n%4: f16[4x6] = abs %1", 2);
  graph.mutations = {{0, 3}};
  Graph live = dead_code(graph);
  EXPECT_EQ(live.nodes.size(), 4U);
  EXPECT_EQ(live.inputs.size(), 2U);
  EXPECT_EQ(live.mutations[0].value, 3U);
}

TEST(Decompose, LeavesNoCompositeAndWidensStatistics) {
  Graph graph = decompose(graph_of("%2: f16[4x6] = softmax %1 {axes=1}", 2));
  EXPECT_EQ(graph.node(graph.outputs[0]).dtype, f16);
  for (const Node& node : graph.nodes) {
    EXPECT_NE(info(node.op).kind, Kind::composite);
    bool is_statistic = info(node.op).kind == Kind::reduction;
    EXPECT_TRUE(!is_statistic || node.dtype == f32);
  }
}

TEST(Pipeline, SkipsAndStopsByName) {
  Graph graph = graph_of("%2: f32[4x6] = exp %0\n%3: f32[4x6] = exp %0\n%4: f32[4x6] = relu %3", 4);
  Graph whole = run_passes(graph);
  EXPECT_EQ(whole.nodes.size(), 5U);  // two inputs, exp, the zero, maximum
  PassOptions keep_dead{.skip = {"dead_code", "common_subexpressions"}, .stop_after = ""};
  EXPECT_EQ(run_passes(graph, keep_dead).nodes.size(), 6U);
  PassOptions decomposed{.skip = {}, .stop_after = "decompose"};
  EXPECT_EQ(run_passes(graph, decomposed).nodes.size(), 5U);
  expect_contains(error_of([&] { run_passes(graph, {.skip = {"decompose"}, .stop_after = ""}); }),
                  "[passes] decompose is required");
  expect_contains(error_of([&] { run_passes(graph, {.skip = {"frobnicate"}, .stop_after = ""}); }),
                  "[passes] there is no graph pass called frobnicate; the passes are");
}

TEST(GraphPasses, ANameToSkipThatNoPassHasIsAnError) {
  Graph graph = graph_of("", 0);
  Setting known("TILEWRIGHT_SKIP_PASSES", "dead_code,hoist_invariants");
  EXPECT_NO_THROW(run_passes(graph));
  Setting over_graphs("TILEWRIGHT_SKIP_PASSES", "canonicalise");
  EXPECT_NO_THROW(run_passes(graph));
  Setting skip("TILEWRIGHT_SKIP_PASSES", "hoist");
  expect_contains(error_of([&] { run_passes(graph); }),
                  "[TILEWRIGHT_SKIP_PASSES] there is no pass 'hoist'; there are, over graphs, "
                  "common_subexpressions, decide_by_places, form_attention, place_masks, "
                  "differentiate, join_losses, decompose, keep_channels_last, decide_by_ranges, "
                  "canonicalise, repeat_numbers, dead_code, and over tile programs expand_math, ");
}

// A softmax of y: f16[4x6], twice, of which one is left.
Graph two_softmaxes() {
  return graph_of(
      "%2: f16[4x6] = softmax %1 {axes=1}\n%3: f16[4x6] = softmax %1 {axes=1}\n"
      "%4: f16[4x6] = sub %2, %3",
      4);
}

TEST(Pipeline, StopsAtTheEndOfAStageAndGoesOnFromIt) {
  Graph graph = two_softmaxes();
  Graph captured = run_passes(graph, {.until = Stage::captured});
  EXPECT_EQ(std::ranges::count(captured.nodes, Op::softmax, &Node::op), 1);
  EXPECT_NO_THROW(verify(captured, Stage::captured));
  EXPECT_THROW(verify(captured, Stage::primitive), InternalError);
  std::vector<PassTime> times;
  Graph primitive = run_passes(captured, {.after = Stage::captured}, &times);
  expect_equal(primitive, run_passes(graph));
  EXPECT_NO_THROW(verify(primitive, Stage::primitive));
  EXPECT_EQ(times.front().name, "decompose");
  expect_equal(run_passes(primitive, {.after = Stage::primitive}), primitive);
}

TEST(Pipeline, KeepsThePassesOfAStageTogether) {
  for (std::size_t i = 1; i < passes().size(); ++i)
    EXPECT_LE(passes()[i - 1].stage, passes()[i].stage);
}

TEST(Pipeline, TellsTheTimeOfEachPassAndWhetherItChangedAnything) {
  std::vector<PassTime> times;
  run_passes(two_softmaxes(), {.skip = {"canonicalise"}}, &times);
  std::vector<std::string_view> names;
  for (const PassTime& time : times) {
    names.push_back(time.name);
    EXPECT_GT(time.seconds, 0);
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{
                       "common_subexpressions", "decide_by_places", "form_attention", "place_masks",
                       "differentiate", "join_losses", "decompose", "keep_channels_last",
                       "decide_by_ranges", "common_subexpressions", "repeat_numbers",
                       "dead_code"}));
  EXPECT_TRUE(times[0].changed);
  EXPECT_FALSE(times[2].changed);
  EXPECT_TRUE(times[6].changed);
  times.clear();
  run_passes(run_passes(two_softmaxes()), {}, &times);
  for (const PassTime& time : times) EXPECT_FALSE(time.changed) << time.name;
}

TEST(Pipeline, DumpsTheGraphAfterAPass) {
  Graph graph = two_softmaxes();
  auto dumped = [&](const PassOptions& options) {
    testing::internal::CaptureStderr();
    run_passes(graph, options);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(dumped({}), "");
  expect_contains(dumped({.dump = "decompose"}), "// after graph.decompose\ngraph {\n");
  expect_contains(dumped({.dump = "all"}), "// after graph.dead_code");
  Setting dump("TILEWRIGHT_DUMP", "simplify,graph.dead_code");
  std::string text = dumped({});
  expect_contains(text, "// after graph.dead_code");
  EXPECT_EQ(text.find("decompose"), text.npos);
}

TEST(Pipeline, DumpsTheGraphAsItWasCaptured) {
  Setting dump("TILEWRIGHT_DUMP", "graph.captured");
  testing::internal::CaptureStderr();
  compile([](const Tensor& x) { return softmax(x, 0); })(ones({4}));
  const std::string text = testing::internal::GetCapturedStderr();
  expect_contains(text, "// graph.captured\ngraph {\n");
  expect_contains(text, "softmax %0");
  EXPECT_EQ(text.find("// after"), text.npos);
}

TEST(Pipeline, TheEnvironmentSkipsAndStopsByNamesWithTheRoom) {
  Graph graph = two_softmaxes();
  {
    Setting stop("TILEWRIGHT_STOP_AFTER", "graph.decompose");
    expect_equal(run_passes(graph), run_passes(graph, {.stop_after = "decompose"}));
  }
  Setting tile("TILEWRIGHT_STOP_AFTER", "dead_code");  // of tile programs
  Setting skip("TILEWRIGHT_SKIP_PASSES", "graph.dead_code");
  expect_equal(run_passes(graph), run_passes(graph, {.skip = {"dead_code"}}));
}

TEST(GraphPasses, ANameAfterTheRoomThatNoGraphPassHasIsAnError) {
  for (const char* variable :
       {"TILEWRIGHT_SKIP_PASSES", "TILEWRIGHT_STOP_AFTER", "TILEWRIGHT_DUMP"}) {
    Setting wrong(variable, "graph.hoist_invariants");
    expect_contains(error_of([] { check_pass_names(); }),
                    concat("[", variable,
                           "] there is no pass 'graph.hoist_invariants'; over graphs there are "
                           "common_subexpressions, decide_by_places, form_attention, "
                           "place_masks, differentiate, join_losses, decompose, "
                           "keep_channels_last, decide_by_ranges, canonicalise, repeat_numbers, "
                           "dead_code, each with graph. before it"));
  }
}

}  // namespace
}  // namespace tilewright::graph::passes_test
