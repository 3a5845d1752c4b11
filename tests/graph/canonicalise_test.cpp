// The pass canonicalise on small programs: these two become equal, and these stay as they are.
#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "tests/errors.h"
#include "tests/graph/pass_programs.h"

namespace tilewright::graph::canonicalise_test {
namespace {

using namespace testing_passes;

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
TEST(Canonicalise, AnExtremeOfAConstantIsThatConstant) {
  for (const char* op : {"amax", "amin"})
    expect_equal(
        simple("%2: f32[4x6] = full {number=3}\n%3: f32[4x1] = " + std::string(op) + " %2 {axes=1}",
               3),
        graph_of("%2: f32[4x1] = full {number=3}", 2));
  for (const char* op : {"any", "all"})
    expect_equal(simple("%2: bool[4x6] = full {number=1}\n%3: bool[1x6] = " + std::string(op) +
                            " %2 {axes=0}",
                        3),
                 graph_of("%2: bool[1x6] = full {number=1}", 2));
  const char* of_none = "%2: bool[0x6] = full {number=0}\n%3: bool[1x6] = all %2 {axes=0}";
  expect_equal(simple(of_none, 3), graph_of(of_none, 3));
}

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

TEST(Canonicalise, ReducesAllElementsInTheOrderInWhichTheyLie) {
  expect_equal(simple("%2: f32[6x4] = permute %0 {axes=1x0}\n%3: f32[6x4] = mul %2, %2\n"
                      "%4: f32[1x1] = sum %3 {axes=0x1}",
                      4),
               graph_of("%2: f32[4x6] = mul %0, %0\n%3: f32[1x1] = sum %2 {axes=0x1}", 3));
  const std::string rows =
      "%2: f32[6x4] = permute %0 {axes=1x0}\n%3: f32[6x4] = mul %2, %2\n"
      "%4: f32[6x1] = sum %3 {axes=1}";
  expect_equal(simple(rows, 4), graph_of(rows, 4));
}

// The transpose of a product of [rows, 80] and [80, columns], or of the latter stored [columns,
// 80].
Graph transposed_product(Op op, std::int64_t rows, std::int64_t columns, bool is_read_too = false) {
  Graph graph;
  GraphBuilder builder(graph);
  const NodeId a = builder.input(f32, {rows, 80}),
               b = builder.input(f32, op == Op::linear ? Shape{columns, 80} : Shape{80, columns});
  const NodeId product = builder.append(op, {a, b}, {}, f32);
  graph.outputs = {builder.append(Op::permute, {product}, {.axes = {1, 0}, .sizes = {}})};
  if (is_read_too) graph.outputs.push_back(product);
  return graph;
}

TEST(Canonicalise, MultipliesTransposedWhereOnlyTheTransposeIsRead) {
  for (Op op : {Op::matmul, Op::linear}) {
    const Graph turned = dead_code(canonicalise(transposed_product(op, 70, 96)));
    const Node& result = turned.node(turned.outputs[0]);
    EXPECT_EQ(result.op, op);
    EXPECT_EQ(result.shape, (Shape{96, 70}));
    for (const Graph& left : {transposed_product(op, 8, 96), transposed_product(op, 96, 8),
                              transposed_product(op, 70, 96, true)})
      expect_equal(dead_code(canonicalise(left)), left);
  }
}

TEST(Canonicalise, LeavesAProgramAloneThatIsSimpleAlready) {
  const char* body =
      "%2: f32[6x4] = permute %0 {axes=1x0}\n%3: f32[24] = reshape %2 {sizes=24}\n"
      "%4: f32[24] = full {number=2}\n%5: f32[24] = mul %3, %4";
  expect_equal(canonicalise(graph_of(body, 5)), graph_of(body, 5));
}

}  // namespace
}  // namespace tilewright::graph::canonicalise_test
