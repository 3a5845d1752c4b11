// Products of matrices, with what is added to them, and of integers.
#include <algorithm>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/reducing/products.h"
#include "models/onnx/operators/table.h"
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
  if (is_integer(a.dtype())) {
    Tensor product = matmul(a, b) * static_cast<std::int64_t>(alpha);
    return c.defined() ? product + c * static_cast<std::int64_t>(beta) : product;
  }
  if (c.defined() && c.rank() <= 2) return addmm(c, a, b, {beta, alpha});
  Tensor product = matmul(a, b);
  return alpha == 1 ? product : product * alpha;
}

// Of rows of a, or columns of b, one each.
Tensor less_zero(const Tensor& x, const Tensor& zero_point, bool is_left) {
  if (!zero_point.defined()) return x.to(i32);
  Tensor zero = zero_point.to(i32);
  if (zero.count() == 1) return x.to(i32) - zero.reshape({});
  if (zero.rank() == 1) zero = is_left ? zero.unsqueeze(1) : zero;
  return x.to(i32) - zero;
}
Tensor of_integers(const Call& call) {
  return matmul(less_zero(call.tensor(0), call.optional_tensor(2), true),
                less_zero(call.tensor(1), call.optional_tensor(3), false));
}

Tensor summed(const Call& call) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  return einsum(equation, call.tensors());
}

// Of matrices [.., N, N], by elimination with the greatest element of a column as its pivot.
Tensor determinant(const Call& call) {
  Tensor x = call.tensor(0);
  require(x.rank() >= 2 && x.size(-1) == x.size(-2) && x.size(-1) <= 64, "[onnx] [", x.shape(),
          "] are no square matrices of up to 64 rows, which are supported");
  Shape lead(x.shape().begin(), x.shape().end() - 2);
  std::int64_t count = element_count(lead), size = x.size(-1);
  Tensor rest = x.reshape({count, size, size}), result = ones({count}, x.dtype());
  for (std::int64_t rows = size; rows > 0; --rows) {
    Tensor place = argmax(abs(rest.select(2, 0)), 1);
    Tensor row = tilewright::index(rest, {arange(0, count), place});  // [count, rows]
    Tensor pivot = row.select(1, 0);
    result = result * where(place == 0, pivot, -pivot);
    Tensor is_pivot = (arange(0, rows) == place.unsqueeze(1)).unsqueeze(2);
    Tensor others = where(is_pivot, rest.slice(1, 0, 1), rest).slice(1, 1, rows);
    if (rows == 1) break;
    Tensor divisor = where(pivot == 0.0, 1.0, pivot).reshape({count, 1, 1});
    rest = others.slice(2, 1, rows) -
           others.slice(2, 0, 1) / divisor * row.slice(1, 1, rows).unsqueeze(1);
  }
  return result.reshape(lead);
}

constexpr Operator rows[] = {
    {"Det", 11, by<determinant>},
    {"Einsum", 12, by<summed>},
    {"Gemm", 7, by<general>},
    {"MatMul", 1, [](const Call& c) { return matmul(c.tensor(0), c.tensor(1)); }},
    {"MatMulInteger", 10, by<of_integers>},
};

}  // namespace
}  // namespace product_rows

std::span<const Operator> product_operators() { return product_rows::rows; }

}  // namespace tilewright::onnx
