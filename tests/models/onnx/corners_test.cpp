// Corner cases of ONNX operators: values beyond a narrow type, NaN, ties, and axes that are empty
// or missing. Unless a test says otherwise, the results are those of ONNX Runtime 1.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::onnx_corners_test {
namespace {

using namespace testing::onnx;
using ::testing::ElementsAreArray;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

Tensor floats_of(const Floats& elements, DType dtype = f32) {
  return Tensor::from(elements, {std::ssize(elements)}).to(dtype);
}
Tensor integers_of(const Integers& elements, DType dtype = i64) {
  return Tensor::from(elements, {std::ssize(elements)}).to(dtype);
}

int number_of(DType dtype) {
  for (const auto& [each, number] : {std::pair{f32, 1}, std::pair{u8, 2}, std::pair{i8, 3},
                                     std::pair{i32, 6}, std::pair{i64, 7}, std::pair{f16, 10}})
    if (each == dtype) return number;
  return 11;  // f64
}

// A model of one node, whose inputs are those of the graph. An undefined one is left out.
struct OneNode {
  const char* op;
  std::vector<Tensor> inputs;
  std::string attributes = {};
  std::int64_t set = 21;
};
std::string model_of(const OneNode& one, std::size_t outputs) {
  GraphParts parts;
  std::vector<std::string> names, results;
  for (const Tensor& input : one.inputs) {
    names.push_back(input.defined() ? concat("x", names.size()) : "");
    if (!input.defined()) continue;
    std::vector<std::string> sizes;
    for (std::int64_t size : input.shape()) sizes.push_back(std::to_string(size));
    parts.inputs.push_back(value(names.back(), sizes, number_of(input.dtype())));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(concat("y", i));
    parts.outputs.push_back(bytes(1, results.back()));
  }
  parts.nodes = {node(one.op, names, results, one.attributes)};
  return model(graph_of(parts), one.set);
}

// An output, integers exactly.
struct Right {
  Shape shape;
  Doubles elements;
};
void expect_equal(const Tensor& actual, const Right& right, double tolerance) {
  EXPECT_EQ(actual.shape(), right.shape);
  std::vector<::testing::Matcher<double>> elements;
  for (double each : right.elements)
    elements.push_back(::testing::NanSensitiveDoubleNear(each, tolerance));
  EXPECT_THAT(actual.to(f64).to_vector<double>(), ElementsAreArray(elements));
}
// The results of the node by itself and compiled.
void expect(const OneNode& one, const std::vector<Right>& right, double tolerance = 0) {
  SCOPED_TRACE(concat(one.op, " of operator set ", one.set));
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", model_of(one, right.size())));
  std::vector<Tensor> given;
  for (const Tensor& input : one.inputs)
    if (input.defined()) given.push_back(input);
  auto fast = compile(*module, {.tell_breaks = false});
  for (const std::vector<Tensor>& results : {module->forward(given), fast(given)}) {
    ASSERT_EQ(results.size(), right.size());
    for (std::size_t i = 0; i < right.size(); ++i) expect_equal(results[i], right[i], tolerance);
  }
}

TEST(OnnxCorners, ParametersOfBatchNormalizationAreNotRoundedToItsInput) {
  expect({"BatchNormalization",
          {floats_of({1, 2, 3, 4}, f16).reshape({2, 2}), floats_of({1e-6F, 1000}),
           floats_of({0, 0}), floats_of({0, 0}), floats_of({1e-8F, 1e5F})},
          real("epsilon", 1e-12F),
          15},
         {{{2, 2}, {0.01000213623046875, 6.32421875, 0.029998779296875, 12.6484375}}});
}
TEST(OnnxCorners, BatchNormalizationOfAListHasOneChannel) {
  const Tensor x = floats_of({1, 2, 3});
  std::vector<Tensor> inputs = {x, floats_of({2}), floats_of({1}), floats_of({1}), floats_of({4})};
  expect({"BatchNormalization", inputs, real("epsilon", 0), 15}, {{{3}, {1, 2, 3}}}, 1e-6);
}

TEST(OnnxCorners, PlacesOfMaximaAreNeverInThePadding) {
  const std::string windows = integers("kernel_shape", {2, 2}) + integers("pads", {1, 1, 0, 0});
  const Tensor black = zeros({1, 1, 3, 3}, u8);
  const Right values = {{1, 1, 3, 3}, Doubles(9)};
  expect({"MaxPool", {black}, windows}, {values, {{1, 1, 3, 3}, {0, 0, 1, 0, 0, 1, 3, 3, 4}}});
  expect({"MaxPool", {black}, windows + attribute("storage_order", 1)},
         {values, {{1, 1, 3, 3}, {0, 0, 3, 0, 0, 3, 1, 1, 4}}});
  const std::string pairs = integers("kernel_shape", {2}) + integers("pads", {1, 0});
  expect({"MaxPool", {integers_of({-128, -128, -128}, i8).reshape({1, 1, 3})}, pairs},
         {{{1, 1, 3}, {-128, -128, -128}}, {{1, 1, 3}, {0, 0, 1}}});
  expect({"MaxPool", {full({1, 1, 3}, -infinity)}, pairs},
         {{{1, 1, 3}, {-infinity, -infinity, -infinity}}, {{1, 1, 3}, {0, 0, 1}}});
}
// PyTorch, too, gives the place of a NaN.
TEST(OnnxCorners, PlacesOfMaximaAreThoseOfNaNs) {
  const Tensor x = floats_of({1, 2, NAN, 4}).reshape({1, 1, 4});
  expect({"MaxPool", {x}, integers("kernel_shape", {3}) + integers("pads", {1, 1})},
         {{{1, 1, 4}, {2, nan, nan, nan}}, {{1, 1, 4}, {1, 2, 2, 2}}});
}

TEST(OnnxCorners, PowersOfIntegersAreExact) {
  const Integers bases = {5, 6, 10, -3, 2, 7, 4, 2, 10},
                 right = {25, 36, 100, -27, 0, 2, 2, 1, 1000000000000000000};
  const Floats exponents = {2, 2, 2, 3, -1, 0.5, 0.5, 0, 18};
  for (DType of_exponent : {f64, f32}) {
    ScratchFolder folder;
    const OneNode one{"Pow", {integers_of(bases), floats_of(exponents, of_exponent)}};
    const auto module = load_onnx(folder.write("model.onnx", model_of(one, 1)));
    EXPECT_EQ(module->forward(one.inputs)[0].to_vector<std::int64_t>(), right);
    EXPECT_EQ(compile(*module)(one.inputs)[0].to_vector<std::int64_t>(), right);
  }
}

TEST(OnnxCorners, PowersOfIntegersByAKnownFloatAreExact) {
  const Tensor x = integers_of({5, -6, 1});
  const auto raised = [&](float exponent) {
    ScratchFolder folder;
    const auto module = load_onnx(folder.write(
        "model.onnx", model(graph_of({{node("Constant", {}, {"e"}, real("value_float", exponent)),
                                       node("Pow", {"x", "e"}, {"y"})},
                                      {},
                                      {value("x", {"3"}, is_int64)},
                                      {bytes(1, "y")}}))));
    return module->forward({x})[0].to_vector<std::int64_t>();
  };
  EXPECT_EQ(raised(2), (Integers{25, 36, 1}));
  EXPECT_EQ(raised(3), (Integers{125, -216, 1}));
  EXPECT_EQ(raised(-1), (Integers{0, 0, 1}));
}

// As ONNX's reference and NumPy have it, where all NaNs are one.
TEST(OnnxCorners, NaNsAreOneUniqueElementAboveNumbers) {
  expect({"Unique", {floats_of({2, 1, NAN, 1, 3, NAN, -0.F, 0})}}, {{{5}, {0, 1, 2, 3, nan}},
                                                                    {{5}, {6, 1, 0, 4, 2}},
                                                                    {{8}, {2, 1, 4, 1, 3, 4, 0, 0}},
                                                                    {{5}, {2, 2, 1, 1, 2}}});
  expect({"Unique", {floats_of({5, NAN, 1, 5, 0})}, attribute("sorted", 0)},
         {{{4}, {5, nan, 1, 0}}, {{4}, {0, 1, 2, 4}}, {{5}, {0, 1, 2, 0, 3}}, {{4}, {2, 1, 1, 1}}});
}

TEST(OnnxCorners, VariancesAreThoseOfDeviations) {
  const Right right = {{1, 1, 2, 2}, {-1.3416407, -0.4472136, 0.4472136, 1.3416407}};
  const Tensor far = floats_of({10000, 10001, 10002, 10003}), large = floats_of({1, 2, 3, 4}) * 1e4;
  expect({"MeanVarianceNormalization", {far.reshape({1, 1, 2, 2})}}, {right}, 1e-6);
  expect({"MeanVarianceNormalization", {large.to(f16).reshape({1, 1, 2, 2})}}, {right}, 1e-3);
}
TEST(OnnxCorners, SumsOfPowersMayLeaveNarrowTypes) {
  const Tensor x = floats_of({1000, -2000, 3000, 60000}, f16).reshape({1, 1, 4});
  expect({"GlobalLpPool", {x}}, {{{1, 1, 1}, {60128}}});
  expect({"LpPool", {x}, integers("kernel_shape", {2})}, {{{1, 1, 3}, {2236, 3606, 60064}}});
  expect({"LpNormalization", {x}, attribute("p", 1)},
         {{{1, 1, 4}, {0.01515198, -0.03030396, 0.04544067, 0.9091797}}}, 1e-6);
  expect({"LpNormalization", {x}}, {{{1, 1, 4}, {0.01663208, -0.03326416, 0.04989624, 0.9980469}}},
         1e-6);
  expect({"ReduceSumSquare", {floats_of({0.1F, 0.2F, 0.3F, 100.1F}, f16), integers_of({0})}},
         {{{1}, {10024}}});
  expect({"Mean", {floats_of({60000}, f16), floats_of({60000}, f16)}}, {{{1}, {60000}}});
}
// x / (1 + 0.1 times the squares of three channels)^0.5, in f64.
TEST(OnnxCorners, ResponsesOfNeighboursMayLeaveNarrowTypes) {
  const std::string settings = attribute("size", 3) + real("alpha", 0.3F) + real("beta", 0.5F);
  expect({"LRN", {floats_of({300, -400, 500, 6}, f16).reshape({1, 4, 1})}, settings},
         {{{1, 4, 1}, {1.897, -1.789, 2.469, 0.03794}}}, 2e-3);
}

TEST(OnnxCorners, ReductionsOverNoAxesAreOfEachElement) {
  const Tensor x = floats_of({1, -2, 3, 4}).reshape({2, 2}), none = Tensor::empty({0}, i64);
  const std::string noop = attribute("noop_with_empty_axes", 1);
  for (const auto& [op, right] :
       {std::pair{"ReduceL1", Doubles{1, 2, 3, 4}}, std::pair{"ReduceL2", Doubles{1, 2, 3, 4}},
        std::pair{"ReduceSumSquare", Doubles{1, 4, 9, 16}},
        std::pair{"ReduceLogSum", Doubles{0, nan, 1.0986123, 1.3862944}},
        std::pair{"ReduceLogSumExp", Doubles{1, -2, 3, 4}},
        std::pair{"ReduceMean", Doubles{1, -2, 3, 4}}}) {
    expect({op, {x, none}, noop}, {{{2, 2}, right}}, 1e-6);
    expect({op, {x}, noop}, {{{2, 2}, right}}, 1e-6);
  }
  expect({"ReduceSumSquare", {integers_of({3, -4}, i32), none}, noop}, {{{2}, {9, 16}}});
}

// As ONNX's reference and numpy.fft.irfft have it; ONNX Runtime differs where zeros are added.
TEST(OnnxCorners, AnInverseTransformOfOneSideIsReal) {
  const Tensor x = floats_of({1, 2, 3, -4, 0.5, 1, 2, 0}).reshape({1, 4, 2}),
               six = Tensor::scalar<std::int64_t>(6), eight = Tensor::scalar<std::int64_t>(8);
  const std::string inverse = attribute("inverse", 1) + attribute("onesided", 1);
  const Right right = {{1, 6, 1}, {1.6666667, 1.1160254, 1.3600423, -1, -1.526709, -0.61602539}};
  expect({"DFT", {x, six}, inverse, 20}, {right}, 1e-6);
  expect({"DFT", {x}, inverse, 20}, {right}, 1e-6);
  expect({"DFT", {x, six}, inverse, 17}, {right}, 1e-6);
  expect({"DFT", {x, eight}, inverse, 20},
         {{{1, 8, 1}, {1.5, 0.75888348, 1, 0.90533006, -1, -1.0088835, -1, -0.15533006}}}, 1e-6);
  expect({"DFT", {x.slice(2, 0, 1).contiguous(), six}, inverse, 20},
         {{{1, 6, 1}, {1.6666667, 0.25, -0.083333336, -1, -0.083333336, 0.25}}}, 1e-6);
}

TEST(OnnxCorners, ElementsThatAreCutOffDoNotWrapAround) {
  const Tensor x = floats_of({0, 1, 2, 3});
  const std::string wrap = text("mode", "wrap");
  expect({"Pad", {x, integers_of({-1, 2})}, wrap}, {{{5}, {1, 2, 3, 1, 2}}});
  expect({"Pad", {x, integers_of({-2, 2})}, wrap}, {{{4}, {2, 3, 2, 3}}});
  expect({"Pad", {x, integers_of({2, -2})}, wrap}, {{{4}, {0, 1, 0, 1}}});
}

TEST(OnnxCorners, RangesMayGoOverAllIntegers) {
  constexpr std::int64_t least = INT64_MIN, most = INT64_MAX, quarter = std::int64_t{1} << 62;
  struct Case {
    std::int64_t start, limit, step;
    Integers right;
  };
  const Case cases[] = {{least, most, quarter, {least, -quarter, 0, quarter}},
                        {most, least, -quarter, {most, quarter - 1, -1, -quarter - 1}},
                        {quarter, quarter + 3, 2, {quarter, quarter + 2}},
                        {most, least, 1, {}}};
  for (const Case& c : cases) {
    const std::vector<Tensor> given = {Tensor::scalar(c.start), Tensor::scalar(c.limit),
                                       Tensor::scalar(c.step)};
    ScratchFolder folder;
    const auto of_inputs = load_onnx(folder.write("inputs.onnx", model_of({"Range", given}, 1)));
    EXPECT_EQ(of_inputs->forward(given)[0].to_vector<std::int64_t>(), c.right);
    GraphParts parts;
    for (const auto& [name, number] :
         {std::pair{"a", c.start}, std::pair{"b", c.limit}, std::pair{"c", c.step}})
      parts.nodes.push_back(node("Constant", {}, {name}, attribute("value_int", number)));
    parts.nodes.push_back(node("Range", {"a", "b", "c"}, {"y"}));
    parts.outputs = {bytes(1, "y")};
    const auto of_constants = load_onnx(folder.write("constants.onnx", model(graph_of(parts), 21)));
    EXPECT_EQ(of_constants->forward({})[0].to_vector<std::int64_t>(), c.right);
  }
}

// Halves of i32 as ONNX Runtime has them, away from 0.
TEST(OnnxCorners, ResizedIntegersAreRounded) {
  const std::string smooth = attribute("antialias", 1) + text("mode", "linear"),
                    cubic = text("mode", "cubic");
  const auto sizes = [](std::int64_t wanted) { return integers_of({1, 1, 1, wanted}); };
  const Tensor x = integers_of({0, 50, 100, 200, 255}, u8).reshape({1, 1, 1, 5}),
               halves = integers_of({-1, -2, -2, -3}, i32).reshape({1, 1, 1, 4});
  expect({"Resize", {x, {}, {}, sizes(3)}, smooth, 19}, {{{1, 1, 1, 3}, {19, 111, 234}}});
  expect({"Resize", {halves, {}, {}, sizes(2)}, smooth, 19}, {{{1, 1, 1, 2}, {-2, -3}}});
  // Those of ONNX's reference, since ONNX Runtime has no cubic ones of integers.
  const Tensor y = integers_of({0, -50, -100, -100, -125}, i8).reshape({1, 1, 1, 5});
  expect({"Resize", {y, {}, {}, sizes(4)}, cubic, 19}, {{{1, 1, 1, 4}, {-5, -74, -101, -122}}});
}

TEST(OnnxCorners, NaNsInAGridAreTheFirstElement) {
  const Tensor x = arange(1, 10).to(f32).reshape({1, 1, 3, 3}),
               grid = floats_of({NAN, 0, 0, NAN, 0.7F, NAN, NAN, NAN}).reshape({1, 1, 4, 2});
  const auto sampled = [&](const char* mode, const char* padding, const Doubles& right) {
    expect({"GridSample", {x, grid}, text("mode", mode) + text("padding_mode", padding), 20},
           {{{1, 1, 1, 4}, right}}, 1e-5);
  };
  for (const char* padding : {"border", "reflection"}) {
    sampled("linear", padding, {4, 2, 3, 1});
    sampled("nearest", padding, {4, 2, 3, 1});
  }
  sampled("cubic", "border", {3.90625, 1.71875, 2.7525935, 0.625});
  sampled("linear", "zeros", {2, 1, 1.4249997, 0.25});
}

TEST(OnnxCorners, TuplesOfNoNumbersNameTheWhole) {
  const Tensor x = floats_of({1, 2, 3}), index = Tensor::empty({2, 0}, i64),
               updates = floats_of({7, 8, 9, -1, 0, 4}).reshape({2, 3});
  expect({"GatherND", {x, index}}, {{{2, 3}, {1, 2, 3, 1, 2, 3}}});
  for (const auto& [reduction, right] :
       {std::pair{"none", Doubles{-1, 0, 4}}, std::pair{"add", Doubles{7, 10, 16}},
        std::pair{"mul", Doubles{-7, 0, 108}}, std::pair{"max", Doubles{7, 8, 9}},
        std::pair{"min", Doubles{-1, 0, 3}}})
    expect({"ScatterND", {x, index, updates}, text("reduction", reduction)}, {{{3}, right}});
}

// The errors of a node at once and compiled.
std::vector<std::string> errors_of(const OneNode& one) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", model_of(one, 1)));
  auto fast = compile(*module, {.tell_breaks = false});
  return {error_of([&] { module->forward(one.inputs); }), error_of([&] { fast(one.inputs); })};
}
TEST(OnnxCorners, MessagesNameTheIndexThatIsGiven) {
  const Tensor x = floats_of({1, 2, 3, 4, 5, 6}).reshape({2, 3}),
               below = integers_of({-4}).reshape({1, 1});
  for (const std::string& error : errors_of({"GatherElements", {x, below}}))
    expect_contains(error, "index -4 is outside 2 places");
  const Tensor update = floats_of({1}).reshape({1, 1});
  for (const std::string& error : errors_of({"ScatterElements", {x, below, update}}))
    expect_contains(error, "index -4 is outside 2 places");
}
}  // namespace
}  // namespace tilewright::onnx_corners_test
