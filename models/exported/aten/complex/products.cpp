// Rows for products of complex vectors, matrices and tensors.
#include "graph/functions/complex/products.h"
#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/reductions.h"
#include "models/exported/aten/complex/rows.h"

namespace tilewright::exported {
namespace complex_product_rows {
namespace {

ComplexTensor product_of(const Call& call, std::string_view first, std::string_view second) {
  return matmul(call.complex_factor(first), call.complex_factor(second));
}
Value product_of_matrices(const Call& call) {
  for (const char* other : {"mat2", "vec", "tensor", "other"})
    if (call.has(other)) return product_of(call, "self", other);
  call.refuse("self", "has nothing that it is multiplied by");
}
ComplexTensor outer_product(const Call& call, std::string_view first, std::string_view second) {
  return outer(call.complex_tensor(first), call.complex_tensor(second));
}

ComplexTensor scaled(const Call& call, const ComplexTensor& z, std::string_view name) {
  return call.has(name) ? z * call.complex_operand(name) : z;
}
// beta * self + alpha * product.
Value added(const Call& call, const ComplexTensor& product) {
  return scaled(call, call.complex_tensor("self"), "beta") + scaled(call, product, "alpha");
}

Value contraction(const Call& call) {
  call.has("path");
  return einsum(call.text("equation", ""), call.complex_factors("tensors"));
}
Value cross_product(const Call& call) {
  const bool is_named = call.node().target == "aten.linalg_cross.default" || call.has("dim");
  return cross(call.complex_tensor("self"), call.complex_tensor("other"),
               is_named ? std::optional(call.axis("dim", -1)) : std::nullopt);
}
Value with_bias(const Call& call) {
  const ComplexTensor x = call.complex_factor("input"), weight = call.complex_tensor("weight");
  return call.has("bias") ? linear(x, weight, call.complex_tensor("bias")) : linear(x, weight);
}

using OfTwo = ComplexTensor (*)(const ComplexTensor& a, const ComplexTensor& b);
template <OfTwo function>
constexpr auto of_self_and_other = [](const Call& c) -> Value {
  return function(c.complex_tensor("self"), c.complex_tensor("other"));
};

constexpr Operator rows[] = {
    {"aten.addbmm.default",
     [](const Call& c) { return added(c, sum(product_of(c, "batch1", "batch2"), {0})); }},
    {"aten.addmm.default", [](const Call& c) { return added(c, product_of(c, "mat1", "mat2")); }},
    {"aten.addmv.default", [](const Call& c) { return added(c, product_of(c, "mat", "vec")); }},
    {"aten.addr.default", [](const Call& c) { return added(c, outer_product(c, "vec1", "vec2")); }},
    {"aten.baddbmm.default",
     [](const Call& c) { return added(c, product_of(c, "batch1", "batch2")); }},
    {"aten.bmm.default", by<product_of_matrices>},
    {"aten.cross.default", by<cross_product>},
    {"aten.dot.default", by<product_of_matrices>},
    {"aten.einsum.default", by<contraction>},
    {"aten.inner.default", of_self_and_other<inner>},
    {"aten.kron.default", of_self_and_other<kron>},
    {"aten.linalg_cross.default", by<cross_product>},
    {"aten.linalg_matrix_exp.default", of_self<matrix_exp>},
    {"aten.linalg_multi_dot.default",
     [](const Call& c) -> Value { return linalg_multi_dot(c.complex_factors("tensors")); }},
    {"aten.linalg_vander.default",
     [](const Call& c) -> Value {
       return linalg_vander(c.complex_tensor("x"),
                            c.has("N") ? std::optional(c.integer("N")) : std::nullopt);
     }},
    {"aten.linalg_vecdot.default",
     [](const Call& c) -> Value {
       return linalg_vecdot(c.complex_tensor("x"), c.complex_tensor("y"), c.axis("dim", -1));
     }},
    {"aten.linear.default", by<with_bias>},
    {"aten.matmul.default", by<product_of_matrices>},
    {"aten.mm.default", by<product_of_matrices>},
    {"aten.mv.default", by<product_of_matrices>},
    {"aten.outer.default",
     [](const Call& c) -> Value {
       return outer_product(c, "self", c.has("vec2") ? "vec2" : "other");
     }},
    {"aten.tensordot.default",
     [](const Call& c) -> Value {
       return tensordot(c.complex_tensor("self"), c.complex_tensor("other"), c.axes("dims_self"),
                        c.axes("dims_other"));
     }},
    {"aten.vdot.default", of_self_and_other<vdot>},
};

}  // namespace
}  // namespace complex_product_rows

std::span<const Operator> complex_product_operators() { return complex_product_rows::rows; }

}  // namespace tilewright::exported
