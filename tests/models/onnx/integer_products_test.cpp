// Products and convolutions of integers of 8 bits, of sizes at which the host multiplies in words
// of four, or by floats that are exact: sums by their definition.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::onnx_integer_products_test {
namespace {

using namespace testing::onnx;
using namespace std::string_literals;

constexpr int is_u8 = 2, is_i8 = 3, is_i32 = 6;

// Bytes near the ends of their type, so that sums are large, and odd.
struct Bytes {
  bool is_signed;
  std::int64_t zero;
  std::int64_t at(std::int64_t i) const {
    return i % 3 == 0 ? (is_signed ? -128 : 0) + i % 7 : (is_signed ? 127 : 255) - i % 5;
  }
  int type() const { return is_signed ? is_i8 : is_u8; }
  std::string raw(std::int64_t count) const {
    std::string all;
    for (std::int64_t i = 0; i < count; ++i) all += static_cast<char>(at(i));
    return all;
  }
  Tensor tensor(const Shape& shape) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < element_count(shape); ++i) all.push_back(at(i));
    return Tensor::from(all, shape).to(is_signed ? i8 : u8);
  }
};

void expect_sums(const std::string& content, const Tensor& x,
                 const std::vector<std::int64_t>& wanted) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", content));
  auto fast = compile(*module, {.freezing = true});
  for (const Tensor& y : {module->forward({x})[0], fast({x})[0]})
    EXPECT_EQ(y.to(i64).to_vector<std::int64_t>(), wanted);
}

// A row of x in `rows` times a weight [depth, columns], or a convolution by windows of one place.
void expect_definition(std::string_view op, std::int64_t rows, std::int64_t depth,
                       std::int64_t columns, const Bytes& a, const Bytes& b) {
  SCOPED_TRACE(::testing::Message() << op << " " << rows << "x" << depth << "x" << columns << ", "
                                    << a.is_signed << b.is_signed << b.zero);
  const bool is_matmul = op == "MatMulInteger";
  const std::vector<std::int64_t> weight =
      is_matmul ? std::vector{depth, columns} : std::vector{columns, depth, std::int64_t{1}};
  auto size = [](std::int64_t n) { return std::to_string(n); };
  auto zero = [](const Bytes& of) { return std::string(1, static_cast<char>(of.zero)); };
  const std::vector<std::string> x =
      is_matmul ? std::vector{size(rows), size(depth)} : std::vector{"1"s, size(depth), size(rows)};
  const std::vector<std::string> y = is_matmul ? std::vector{size(rows), size(columns)}
                                               : std::vector{"1"s, size(columns), size(rows)};
  const std::string content =
      model(graph_of({{node(op, {"x", "w", "zx", "zw"}, {"y"})},
                      {tensor("w", weight, b.raw(depth * columns), b.type()),
                       tensor("zx", {}, zero(a), a.type()), tensor("zw", {}, zero(b), b.type())},
                      {value("x", x, a.type())},
                      {value("y", y, is_i32)}}));
  std::vector<std::int64_t> wanted;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t row = is_matmul ? i / columns : i % rows,
                       column = is_matmul ? i % columns : i / rows;
    std::int64_t total = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      total += (a.at(is_matmul ? row * depth + k : k * rows + row) - a.zero) *
               (b.at(is_matmul ? k * columns + column : column * depth + k) - b.zero);
    wanted.push_back(total);
  }
  expect_sums(content, a.tensor(is_matmul ? Shape{rows, depth} : Shape{1, depth, rows}), wanted);
}

// Few rows, whose weight is turned over, and many; signs and zero points of both operands.
TEST(OnnxIntegerProducts, AreExactForAllSignsAndZeroPoints) {
  for (std::int64_t rows : {1, 3, 50})
    for (const Bytes& a : {Bytes{false, 128}, Bytes{false, 0}, Bytes{true, -3}})
      for (const Bytes& b : {Bytes{true, 0}, Bytes{false, 120}, Bytes{true, 5}})
        expect_definition("MatMulInteger", rows, 132, 35, a, b);
}

// With a zero point, up to 129 products are sums of one convolution of f32, up to 2056 of two; of
// f64 beyond.
TEST(OnnxIntegerProducts, ConvolutionsAreExactForAllDepths) {
  for (std::int64_t depth : {129, 130, 514, 2056, 2057, 8200})
    for (const Bytes& b : {Bytes{true, 0}, Bytes{false, 120}})
      expect_definition("ConvInteger", 5, depth, 3, {false, 7}, b);
}

// Numbers of onnxruntime 1.32: sums of equal products, which wrap where i32 ends.
TEST(OnnxIntegerProducts, WrapAsOnnxRuntimeDoes) {
  struct Case {
    std::int64_t depth, weight;
    int type;
    std::int64_t wanted;
  };
  for (const Case& c : {Case{70'000, 127, is_i8, -2'028'017'296},
                        {40'000, 255, is_u8, -1'693'967'296},
                        {70'000, -128, is_i8, 2'010'167'296}})
    for (bool is_matmul : {false, true}) {
      const std::string raw(static_cast<std::size_t>(c.depth), static_cast<char>(c.weight)),
          n = std::to_string(c.depth);
      const std::vector<std::string> sizes =
          is_matmul ? std::vector{"1"s, n} : std::vector{"1"s, n, "1"s};
      const std::vector<std::int64_t> weight =
          is_matmul ? std::vector{c.depth, std::int64_t{1}}
                    : std::vector{std::int64_t{1}, c.depth, std::int64_t{1}};
      const std::string op = is_matmul ? "MatMulInteger" : "ConvInteger";
      const std::string content = model(graph_of({{node(op, {"x", "w"}, {"y"})},
                                                  {tensor("w", weight, raw, c.type)},
                                                  {value("x", sizes, is_u8)},
                                                  {bytes(1, "y")}}));
      SCOPED_TRACE(op + " " + std::to_string(c.weight));
      const Shape shape = is_matmul ? Shape{1, c.depth} : Shape{1, c.depth, 1};
      expect_sums(content, full(shape, 255).to(u8), {c.wanted});
    }
}

std::vector<std::vector<std::string>> ops_of(std::string_view op, const Bytes& x, const Bytes& w,
                                             bool has_zeros) {
  ScratchFolder folder;
  const bool is_matmul = op == "MatMulInteger";
  const std::vector<std::string> names =
      has_zeros ? std::vector{"x"s, "w"s, "zx"s, "zw"s} : std::vector{"x"s, "w"s};
  std::vector<std::string> tensors = {
      tensor("w", is_matmul ? std::vector<std::int64_t>{8, 4} : std::vector<std::int64_t>{4, 8, 1},
             w.raw(32), w.type())};
  if (has_zeros) {
    tensors.push_back(tensor("zx", {}, std::string(1, static_cast<char>(x.zero)), x.type()));
    // One for each column or filter.
    tensors.push_back(tensor("zw", {4}, std::string(4, static_cast<char>(w.zero)), w.type()));
  }
  const std::vector<std::string> sizes =
      is_matmul ? std::vector{"5"s, "8"s} : std::vector{"1"s, "8"s, "5"s};
  const auto module = load_onnx(folder.write(
      "model.onnx",
      model(graph_of(
          {{node(op, names, {"y"})}, tensors, {value("x", sizes, x.type())}, {bytes(1, "y")}}))));
  auto fast = compile(*module, {.fullgraph = true});
  fast({x.tensor(is_matmul ? Shape{5, 8} : Shape{1, 8, 5})});
  std::vector<std::vector<std::string>> ops;
  const PlanReport report = fast.report().at(0);
  for (const RegionReport& region : report.regions) ops.push_back(region.ops);
  return ops;
}

// Zero points of 0 in the file cost nothing: the program is that of a model without zero points.
TEST(OnnxIntegerProducts, HaveNoCorrectionsForZerosOfTheFile) {
  const Bytes x{true, 0}, w{true, 0};
  for (const char* op : {"MatMulInteger", "ConvInteger"}) {
    EXPECT_EQ(ops_of(op, x, w, true), ops_of(op, x, w, false)) << op;
    EXPECT_NE(ops_of(op, {true, 3}, {true, 5}, true), ops_of(op, x, w, false)) << op;
  }
}

TEST(OnnxIntegerProducts, RefuseZeroPointsThatDoNotFit) {
  ScratchFolder folder;
  auto error = [&](const char* op, const std::vector<std::int64_t>& weight,
                   const std::vector<std::string>& x) {
    const auto module = load_onnx(folder.write(
        "model.onnx", model(graph_of({{node(op, {"x", "w", "", "zw"}, {"y"})},
                                      {tensor("w", weight, std::string(32, 'a'), is_i8),
                                       tensor("zw", {3}, std::string(3, '\0'), is_i8)},
                                      {value("x", x, is_i8)},
                                      {bytes(1, "y")}}))));
    return error_of([&] {
      module->forward({zeros(x.size() == 2 ? Shape{5, 8} : Shape{1, 8, 5}, i8)});
    });
  };
  expect_contains(error("MatMulInteger", {8, 4}, {"5", "8"}), "in node \"y\" (MatMulInteger)");
  expect_contains(error("ConvInteger", {4, 8, 1}, {"1", "8", "5"}), "in node \"y\" (ConvInteger)");
}

// Initializers of 8 bits are numbers like others, where they are no weights.
TEST(OnnxIntegerProducts, NumbersOf8BitsDecideShapes) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write(
      "model.onnx", model(graph_of({{node("Cast", {"sizes"}, {"s"}, attribute("to", is_int64)),
                                     node("Reshape", {"x", "s"}, {"y"})},
                                    {tensor("sizes", {2}, std::string("\xff\x03", 2), is_i8)},
                                    {value("x", {"2", "6"})},
                                    {bytes(1, "y")}}))));
  auto fast = compile(*module, {.fullgraph = true});
  EXPECT_EQ(fast({ones({2, 6})})[0].shape(), (Shape{4, 3}));
}

}  // namespace
}  // namespace tilewright::onnx_integer_products_test
