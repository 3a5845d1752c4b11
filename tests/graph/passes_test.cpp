// Each graph pass on small programs: these two become equal, and these stay as they are.
#include "graph/passes/passes.h"

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::graph::passes_test {
namespace {

// A graph over inputs x: f32[4x6] (%0) and y: f16[4x6] (%1), returning node `last`.
Graph graph_of(const std::string& body, int last) {
  return parse(concat("graph {\n%0: f32[4x6] = input\n%1: f16[4x6] = input\n", body,
                      "\ninputs %0 %1\nreturn %", last, "\n}\n"));
}
void expect_equal(const Graph& got, const Graph& wanted) { EXPECT_EQ(print(got), print(wanted)); }
Graph simple(const std::string& body, int last) {
  return dead_code(canonicalise(graph_of(body, last)));
}

TEST(Canonicalise, JoinsViewsOfViews) {
  expect_equal(
      simple("%2: f32[24] = reshape %0 {sizes=24}\n%3: f32[8x3] = reshape %2 {sizes=8x3}", 3),
      graph_of("%2: f32[8x3] = reshape %0 {sizes=8x3}", 2));
  expect_equal(
      simple("%2: f32[6x4] = permute %0 {axes=1x0}\n%3: f32[4x6] = permute %2 {axes=1x0}", 3),
      graph_of("", 0));
  expect_equal(simple("%2: f32[4x5] = slice %0 {axes=1, start=1, end=6}\n"
                      "%3: f32[4x2] = slice %2 {axes=1, end=4, step=2}",
                      3),
               graph_of("%2: f32[4x2] = slice %0 {axes=1, start=1, end=5, step=2}", 2));
}

TEST(Canonicalise, DropsViewsThatChangeNothing) {
  expect_equal(simple("%2: f32[4x6] = reshape %0 {sizes=4x6}\n"
                      "%3: f32[4x6] = slice %2 {axes=0, end=4}\n"
                      "%4: f32[4x6] = expand %3 {sizes=4x6}\n"
                      "%5: f32[4x6] = permute %4 {axes=0x1}",
                      5),
               graph_of("", 0));
}

TEST(Canonicalise, MakesAPermutationOfUnitAxesAReshape) {
  expect_equal(simple("%2: f32[4x1x6] = reshape %0 {sizes=4x1x6}\n"
                      "%3: f32[1x4x6] = permute %2 {axes=1x0x2}",
                      3),
               graph_of("%2: f32[1x4x6] = reshape %0 {sizes=1x4x6}", 2));
  // Also where only two permutations together move nothing else.
  expect_equal(simple("%2: f32[4x6x1] = reshape %0 {sizes=4x6x1}\n"
                      "%3: f32[6x4x1] = permute %2 {axes=1x0x2}\n"
                      "%4: f32[1x4x6] = permute %3 {axes=2x1x0}",
                      4),
               graph_of("%2: f32[1x4x6] = reshape %0 {sizes=1x4x6}", 2));
}

TEST(Canonicalise, DropsExactCastsOnly) {
  expect_equal(simple("%2: f32[4x6] = to %1\n%3: f16[4x6] = to %2", 3), graph_of("", 1));
  expect_equal(simple("%2: f32[4x6] = to %1\n%3: f64[4x6] = to %2", 3),
               graph_of("%2: f64[4x6] = to %1", 2));
  const char* rounds = "%2: f16[4x6] = to %0\n%3: f32[4x6] = to %2";
  expect_equal(simple(rounds, 3), graph_of(rounds, 3));
  const char* other_half = "%2: bf16[4x6] = to %1\n%3: f32[4x6] = to %2";
  expect_equal(simple(other_half, 3), graph_of(other_half, 3));
}

// True if a value of type `from` may be cast to `last` without passing through `through`.
bool goes_straight(const std::string& from, const std::string& through, const std::string& last) {
  Graph chain = parse(concat("graph {\n%0: ", from, "[4] = input\n%1: ", through,
                             "[4] = to %0\n%2: ", last, "[4] = to %1\ninputs %0\nreturn %2\n}\n"));
  Graph direct = parse(concat("graph {\n%0: ", from, "[4] = input\n%1: ", last,
                              "[4] = to %0\ninputs %0\nreturn %1\n}\n"));
  std::string got = print(dead_code(canonicalise(chain)));
  EXPECT_TRUE(got == print(direct) || got == print(chain)) << got;
  return got == print(direct);
}

TEST(Canonicalise, ABoolInBetweenLeavesOneBitOfWhatItWasMadeOf) {
  for (const char* from : {"u8", "i8", "i32", "f8e4m3", "f32"})
    EXPECT_FALSE(goes_straight(from, "bool", "f64")) << from;
  for (const char* through : {"u8", "i8", "f8e4m3", "f8e5m2", "f16", "f32"})
    EXPECT_TRUE(goes_straight("bool", through, "i32")) << through;
}

TEST(Canonicalise, IntegersLoseDigitsInFloatsOf8Bits) {
  for (const char* through : {"f8e4m3", "f8e5m2"})
    for (const char* from : {"i8", "u8", "i64"})
      EXPECT_FALSE(goes_straight(from, through, "f32")) << from << " " << through;
}

TEST(Canonicalise, FloatsKeepTheirValuesInWiderOnesOnly) {
  for (const char* from : {"f8e4m3", "f8e5m2"})
    for (const char* through : {"f16", "bf16", "f32"})
      EXPECT_TRUE(goes_straight(from, through, "f64")) << from << " " << through;
  EXPECT_FALSE(goes_straight("f8e4m3", "f8e5m2", "f32"));
  EXPECT_FALSE(goes_straight("f8e5m2", "f8e4m3", "f32"));
  EXPECT_FALSE(goes_straight("f16", "f8e4m3", "f32"));
  EXPECT_FALSE(goes_straight("f32", "i64", "f64"));
}

TEST(Canonicalise, IntegersKeepTheirValuesWhereAllTheirDigitsFit) {
  for (auto [from, through] : {std::pair("i8", "bf16"),
                               {"u8", "bf16"},
                               {"i16", "f32"},
                               {"u32", "f64"},
                               {"u8", "i16"},
                               {"u32", "i64"},
                               {"u16", "u32"}})
    EXPECT_TRUE(goes_straight(from, through, "i64")) << from << " " << through;
  for (auto [from, through] : {std::pair("i16", "bf16"),
                               {"i32", "f32"},
                               {"i64", "f64"},
                               {"u8", "i8"},
                               {"i8", "u8"},
                               {"i8", "u64"},
                               {"u64", "i64"}})
    EXPECT_FALSE(goes_straight(from, through, "f16")) << from << " " << through;
}

TEST(Canonicalise, DropsNeutralElements) {
  expect_equal(simple("%2: f32[4x6] = full\n%3: f32[4x6] = full {number=1}\n"
                      "%4: f32[4x6] = full {number=-0}\n%5: f32[4x6] = add %4, %0\n"
                      "%6: f32[4x6] = mul %5, %3\n%7: f32[4x6] = div %6, %3\n"
                      "%8: f32[4x6] = sub %7, %2",
                      8),
               graph_of("", 0));
  for (const char* needed : {"%2: f32[4x6] = full\n%3: f32[4x6] = sub %2, %0",
                             "%2: f32[4x6] = full\n%3: f32[4x6] = add %2, %0",
                             "%2: f32[4x6] = full {number=-0}\n%3: f32[4x6] = sub %0, %2"})
    expect_equal(simple(needed, 3), graph_of(needed, 3));
  expect_equal(simple("%2: i32[4x6] = to %0\n%3: i32[4x6] = full\n%4: i32[4x6] = add %2, %3", 4),
               graph_of("%2: i32[4x6] = to %0", 2));
}

TEST(Canonicalise, ComputesWithConstants) {
  expect_equal(simple("%2: f32[1x6] = full {number=2}\n%3: f32[1x6] = full {number=3}\n"
                      "%4: f32[1x6] = mul %2, %3\n%5: f32[4x6] = expand %4 {sizes=4x6}\n"
                      "%6: f32[4x6] = add %0, %5",
                      6),
               graph_of("%2: f32[4x6] = full {number=6}\n%3: f32[4x6] = add %0, %2", 3));
  expect_equal(simple("%2: bool[4x6] = full {number=1}\n%3: f32[4x6] = neg %0\n"
                      "%4: f32[4x6] = where %2, %3, %0\n%5: f32[4x6] = neg %4",
                      5),
               graph_of("", 0));
}

// So that what is converted is read in the order in which it lies.
TEST(Canonicalise, TransposesBehindAConversionForAProduct) {
  const char* product = "%4: f32[4x4] = matmul %0, %3";
  expect_equal(
      simple(concat("%2: f16[6x4] = permute %1 {axes=1x0}\n%3: f32[6x4] = to %2\n", product), 4),
      graph_of(concat("%2: f32[4x6] = to %1\n%3: f32[6x4] = permute %2 {axes=1x0}\n", product), 4));
  auto of_input = [](const char* strides, const std::string& body, int last) {
    return parse(concat("graph {\n%0: f32[4x6] = input\n%1: i8[6x4] = input", strides, "\n", body,
                        "\ninputs %0 %1\nreturn %", last, "\n}\n"));
  };
  const std::string converted = "%2: f32[6x4] = to %1\n%3: f32[4x4] = matmul %0, %2";
  expect_equal(dead_code(canonicalise(of_input(" {strides=1x6}", converted, 3))),
               of_input(" {strides=1x6}",
                        "%2: i8[4x6] = permute %1 {axes=1x0}\n%3: f32[4x6] = to %2\n"
                        "%4: f32[6x4] = permute %3 {axes=1x0}\n%5: f32[4x4] = matmul %0, %4",
                        5));
  for (const char* strides : {"", " {strides=8x1}", " {strides=1x1}"})
    expect_equal(canonicalise(of_input(strides, converted, 3)), of_input(strides, converted, 3));
}

TEST(Canonicalise, LeavesAProgramAloneThatIsSimpleAlready) {
  const char* body =
      "%2: f32[6x4] = permute %0 {axes=1x0}\n%3: f32[24] = reshape %2 {sizes=24}\n"
      "%4: f32[24] = full {number=2}\n%5: f32[24] = mul %3, %4";
  expect_equal(canonicalise(graph_of(body, 5)), graph_of(body, 5));
}

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
  expect_contains(
      error_of([&] { run_passes(graph); }),
      "[TILEWRIGHT_SKIP_PASSES] there is no pass 'hoist'; there are, over graphs, "
      "common_subexpressions, decide_by_places, form_attention, place_masks, decompose, "
      "keep_channels_last, decide_by_ranges, canonicalise, repeat_numbers, dead_code, "
      "and over tile programs expand_math, ");
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
                       "decompose", "keep_channels_last", "decide_by_ranges",
                       "common_subexpressions", "repeat_numbers", "dead_code"}));
  EXPECT_TRUE(times[0].changed);
  EXPECT_FALSE(times[2].changed);
  EXPECT_TRUE(times[4].changed);
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
                           "place_masks, decompose, keep_channels_last, decide_by_ranges, "
                           "canonicalise, repeat_numbers, dead_code, each with "
                           "graph. before it"));
  }
}

}  // namespace
}  // namespace tilewright::graph::passes_test
