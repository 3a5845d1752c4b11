// Products and convolutions of integers of 8 bits, of sizes at which the host multiplies in words
// of four, or by floats that are exact: sums by their definition.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
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

}  // namespace
}  // namespace tilewright::onnx_integer_products_test
