// Products of several complex matrices and vectors.
#include "graph/functions/reducing/products.h"
#include "models/exported/aten/operators.h"
#include "models/exported/complex/arithmetic.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace complex_linear_algebra_rows {
namespace {

ComplexTensor product_of(const ComplexTensor& a, const ComplexTensor& b) {
  return of_bilinear(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
}
Value product_of_several(const Call& call) {
  const auto operands = call.complex_operands("tensors");
  auto whole = [](const ComplexOperand& x) {
    return ComplexTensor(x.real.tensor, x.imaginary
                                            ? x.imaginary->tensor
                                            : zeros(x.real.tensor.shape(), x.real.tensor.dtype()));
  };
  if (operands.size() < 2) call.refuse("tensors", "are fewer than two");
  ComplexTensor y = whole(operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i) y = product_of(y, whole(operands[i]));
  return y;
}
// By the real matrices of twice the size, [A, -B; B, A] for A + iB.
Value exponential_of_matrix(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const int last = z.rank() - 1;
  const std::int64_t n = z.shape()[last];
  const Tensor left = cat({z.real(), z.imaginary()}, last - 1);
  const Tensor right = cat({-z.imaginary(), z.real()}, last - 1);
  const Tensor half = matrix_exp(cat({left, right}, last)).slice(last, 0, n);
  return ComplexTensor(half.slice(last - 1, 0, n), half.slice(last - 1, n, 2 * n));
}
// Powers from 0 on, along a new last axis.
Value powers(const Call& call) {
  const ComplexTensor x = call.complex_tensor("x");
  const std::int64_t count = call.integer("N", x.shape()[x.rank() - 1]);
  if (count < 1) call.refuse("N", concat("is ", count, "; at least 1 is wanted"));
  Shape sizes = x.shape();
  sizes.push_back(count);
  auto behind_one = [&](const Tensor& part, double first) {
    const Tensor wide = part.unsqueeze(-1).expand(sizes);
    return where(arange(0, count) == std::int64_t{0}, first, wide).to(part.dtype());
  };
  return cumulative_product({behind_one(x.real(), 1), behind_one(x.imaginary(), 0)}, x.rank());
}
Value cross_product(const Call& call) {
  const bool is_named = call.node().target == "aten.linalg_cross.default" || call.has("dim");
  const auto axis = is_named ? std::optional(call.axis("dim", -1)) : std::nullopt;
  return of_bilinear(call.complex_tensor("self"), call.complex_tensor("other"),
                     [&](const Tensor& a, const Tensor& b) { return cross(a, b, axis); });
}

ComplexTensor scaled(const Call& call, const ComplexTensor& z, std::string_view name) {
  return call.has(name) ? product(z, call.complex_operand(name)) : z;
}
// beta * self + alpha * what is added.
Value added(const Call& call, const ComplexTensor& more) {
  const ComplexTensor x = scaled(call, call.complex_tensor("self"), "beta");
  const ComplexTensor y = scaled(call, more, "alpha");
  return ComplexTensor(x.real() + y.real(), x.imaginary() + y.imaginary());
}
Value outer_product_added(const Call& call) {
  const ComplexTensor a = call.complex_tensor("vec1");
  return added(call, product(ComplexTensor(a.real().unsqueeze(1), a.imaginary().unsqueeze(1)),
                             call.complex_tensor("vec2")));
}
Value sum_of_products_added(const Call& call) {
  const ComplexTensor y = product_of(call.complex_tensor("batch1"), call.complex_tensor("batch2"));
  return added(call, {sum(y.real(), {0}), sum(y.imaginary(), {0})});
}

constexpr Operator rows[] = {
    {"aten.addbmm.default", by<sum_of_products_added>},
    {"aten.addr.default", by<outer_product_added>},
    {"aten.cross.default", by<cross_product>},
    {"aten.linalg_cross.default", by<cross_product>},
    {"aten.linalg_matrix_exp.default", by<exponential_of_matrix>},
    {"aten.linalg_multi_dot.default", by<product_of_several>},
    {"aten.linalg_vander.default", by<powers>},
};

}  // namespace
}  // namespace complex_linear_algebra_rows

std::span<const Operator> complex_linear_algebra_operators() {
  return complex_linear_algebra_rows::rows;
}

}  // namespace tilewright::exported
