// Systems of complex linear equations, as real ones of twice the size: A + iB is [A, -B; B, A]. And
// products of several complex matrices and vectors.
#include "graph/functions/linear_algebra/solving.h"

#include "graph/functions/reducing/products.h"
#include "models/exported/aten/operators.h"
#include "models/exported/complex/arithmetic.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

Tensor blocks_of(const ComplexTensor& z) {
  const int last = z.rank() - 1;
  return cat({cat({z.real(), -z.imaginary()}, last), cat({z.imaginary(), z.real()}, last)},
             last - 1);
}
ComplexTensor halves(const Tensor& x, int axis) {
  const std::int64_t count = x.size(axis) / 2;
  return {x.slice(axis, 0, count), x.slice(axis, count, 2 * count)};
}
ComplexTensor turned(const ComplexTensor& z) {
  return {z.real().transpose(-2, -1), z.imaginary().transpose(-2, -1)};
}
ComplexTensor matrices_of(const Call& call, std::string_view name) {
  ComplexTensor z = call.complex_tensor(name);
  const Shape& shape = z.shape();
  if (z.rank() < 2 || shape[z.rank() - 1] != shape[z.rank() - 2])
    call.refuse(name, concat("is [", shape, "]; square matrices are wanted"));
  return z;
}

ComplexTensor inverse_of(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor a = matrices_of(call, call.has("A") ? "A" : "self");
  return halves(inverse(blocks_of(a)).slice(a.rank() - 1, 0, a.shape()[a.rank() - 1]),
                a.rank() - 2);
}
ComplexTensor solution(const ComplexTensor& a, const ComplexTensor& b) {
  const Shape batch(a.shape().begin(), a.shape().end() - 1);
  const bool is_vector = b.rank() == 1 || b.shape() == batch;
  const int axis = b.rank() - (is_vector ? 1 : 2);
  return halves(solve(blocks_of(a), cat({b.real(), b.imaginary()}, axis)), axis);
}
ComplexTensor solved(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor a = matrices_of(call, "A"), b = call.complex_tensor("B");
  return call.flag("left", true) ? solution(a, b) : turned(solution(turned(a), turned(b)));
}

// With results behind it that derivatives read; LAPACK's info among them is 0.
template <auto function, std::size_t info>
Results with_info(const Call& call) {
  Results results = {function(call)};
  results.resize(std::max(call.node().results.size(), info + 1));
  const ComplexTensor a = call.complex_tensor("A");
  results[info] = zeros(Shape(a.shape().begin(), a.shape().end() - 2), i32);
  for (std::size_t i = 1; i < call.node().results.size(); ++i)
    if (i != info && call.wants(i))
      call.refuse("A", concat("is factored, and result ", i, " is read"));
  return results;
}

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
    {"aten.inverse.default", [](const Call& c) -> Value { return inverse_of(c); }},
    {"aten.linalg_cross.default", by<cross_product>},
    {"aten.linalg_inv.default", [](const Call& c) -> Value { return inverse_of(c); }},
    {"aten.linalg_inv_ex.default", by<with_info<inverse_of, 1>>},
    {"aten.linalg_multi_dot.default", by<product_of_several>},
    {"aten.linalg_solve.default", [](const Call& c) -> Value { return solved(c); }},
    {"aten.linalg_solve_ex.default", by<with_info<solved, 1>>},
    {"aten._linalg_solve_ex.default", by<with_info<solved, 3>>},
};

}  // namespace

std::span<const Operator> complex_linear_algebra_operators() { return rows; }

}  // namespace tilewright::exported
