// Products of matrices, with what is added to them, and of integers.
#include "graph/functions/reducing/products.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/quantisation/rescaled.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/program/zero_points.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace product_rows {
namespace {

Tensor general(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1), c = call.optional_tensor(2);
  if (call.flag("transA", false)) a = a.transpose(0, 1);
  if (call.flag("transB", false)) b = b.transpose(0, 1);
  double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  require(a.rank() == 2 && b.rank() == 2, "[onnx] [", a.shape(), "] and [", b.shape(),
          "] are no matrices; two axes each are wanted");
  return gemm(a, b, c, {beta, alpha});
}

// Zero points may be one for each row of a, or column of b. Vectors count as a row and a column.
Tensor of_integers(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  const bool is_row = a.rank() == 1, is_column = b.rank() == 1;
  if (is_row) a = a.unsqueeze(0);
  if (is_column) b = b.unsqueeze(1);
  auto zero_of = [&](std::size_t input, bool is_left) {
    if (known_zero(call, input, is_left ? a.size(-2) : b.size(-1))) return Tensor();
    const Tensor zero = call.tensor(input);
    if (zero.count() == 1) return zero.reshape({});
    return is_left && zero.rank() == 1 ? zero.unsqueeze(1) : zero;
  };
  Tensor sums = integer_matmul(a, zero_of(2, true), b, zero_of(3, false));
  if (is_column) sums = sums.squeeze(-1);
  return is_row ? sums.squeeze(is_column ? -1 : -2) : sums;
}

Tensor summed(const Call& call) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  return einsum(equation, call.tensors());
}

Tensor determinant_of(const Call& call) {
  const Tensor x = call.tensor(0);
  require(x.rank() >= 2 && x.size(-1) == x.size(-2), "[onnx] [", x.shape(),
          "] are no square matrices");
  return determinant(x);
}

constexpr Operator rows[] = {
    {"Det", 11, by<determinant_of>},
    {"Einsum", 12, by<summed>},
    {"Gemm", 7, by<general>},
    {"MatMul", 1, [](const Call& c) { return matmul(c.tensor(0), c.tensor(1)); }},
    {"MatMulInteger", 10, by<of_integers>},
};

}  // namespace
}  // namespace product_rows

std::span<const Operator> product_operators() { return product_rows::rows; }

}  // namespace tilewright::onnx
