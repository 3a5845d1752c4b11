// Products of matrices, with what is added to them.
#include "graph/functions/reducing/products.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace product_rows {
namespace {

AddedProduct factors_of(const Call& call) {
  return {call.scalar("beta", 1), call.scalar("alpha", 1)};
}

Tensor product_of_three(const Call& call) {
  call.integer("unroll_dim", 1);  // says how PyTorch computes it
  return trilinear(
      call.tensor("i1"), call.tensor("i2"), call.tensor("i3"),
      {call.axes("expand1"), call.axes("expand2"), call.axes("expand3"), call.axes("sumdim")});
}

Tensor cross_product(const Call& call) {
  const bool is_named = call.node().target == "aten.linalg_cross.default" || call.has("dim");
  return cross(call.tensor("self"), call.tensor("other"),
               is_named ? std::optional(call.axis("dim", -1)) : std::nullopt);
}

Tensor contraction(const Call& call) {
  call.has("path");  // an order of the products that PyTorch may take
  return einsum(call.text("equation", ""), call.tensors("tensors"));
}

Tensor grouped_product(const Call& call) {
  const bool is_aten = call.node().target.starts_with("aten.");
  const Tensor x = call.tensor(is_aten ? "self" : "input"),
               weights = call.tensor(is_aten ? "mat2" : "weight"),
               ends = call.optional_tensor("offs");
  call.dtype("out_dtype");
  return grouped_mm(x, weights, ends, call.optional_tensor("bias"));
}

// Summed, and given, in a wider type than the operands have.
Tensor product_as(const Call& call) {
  const std::optional<DType> dtype = call.dtype("out_dtype");
  if (!dtype) call.refuse("out_dtype", "is missing");
  return matmul(call.tensor("self"), call.tensor("mat2"), *dtype);
}

constexpr Operator rows[] = {
    {"aten.mm.default", [](const Call& c) { return mm(c.tensor("self"), c.tensor("mat2")); }},
    {"aten.bmm.default", [](const Call& c) { return bmm(c.tensor("self"), c.tensor("mat2")); }},
    {"aten.mm.dtype", by<product_as>},
    {"aten.bmm.dtype", by<product_as>},
    {"aten.mv.default", [](const Call& c) { return mv(c.tensor("self"), c.tensor("vec")); }},
    {"aten.dot.default", [](const Call& c) { return dot(c.tensor("self"), c.tensor("tensor")); }},
    {"aten.addmm.default",
     [](const Call& c) {
       return addmm(c.tensor("self"), c.tensor("mat1"), c.tensor("mat2"), factors_of(c));
     }},
    {"aten.addmv.default",
     [](const Call& c) {
       return addmv(c.tensor("self"), c.tensor("mat"), c.tensor("vec"), factors_of(c));
     }},
    {"aten.baddbmm.default",
     [](const Call& c) {
       return baddbmm(c.tensor("self"), c.tensor("batch1"), c.tensor("batch2"), factors_of(c));
     }},
    {"aten.addbmm.default",
     [](const Call& c) {
       return addbmm(c.tensor("self"), c.tensor("batch1"), c.tensor("batch2"), factors_of(c));
     }},
    {"aten.addr.default",
     [](const Call& c) {
       return addr(c.tensor("self"), c.tensor("vec1"), c.tensor("vec2"), factors_of(c));
     }},
    {"aten.bilinear.default",
     [](const Call& c) {
       return bilinear(c.tensor("input1"), c.tensor("input2"), c.tensor("weight"),
                       c.optional_tensor("bias"));
     }},
    {"aten.cross.default", by<cross_product>},
    {"aten.linalg_cross.default", by<cross_product>},
    {"aten.einsum.default", by<contraction>},
    {"aten.inner.default",
     [](const Call& c) { return inner(c.tensor("self"), c.tensor("other")); }},
    {"aten.kron.default", [](const Call& c) { return kron(c.tensor("self"), c.tensor("other")); }},
    {"aten.linalg_multi_dot.default",
     [](const Call& c) { return linalg_multi_dot(c.tensors("tensors")); }},
    {"aten.linalg_vecdot.default",
     [](const Call& c) { return linalg_vecdot(c.tensor("x"), c.tensor("y"), c.axis("dim", -1)); }},
    {"aten.outer.default", [](const Call& c) { return outer(c.tensor("self"), c.tensor("vec2")); }},
    {"aten.tensordot.default",
     [](const Call& c) {
       return tensordot(c.tensor("self"), c.tensor("other"), c.axes("dims_self"),
                        c.axes("dims_other"));
     }},
    {"aten.trace.default", [](const Call& c) { return trace(c.tensor("self")); }},
    {"aten.vdot.default", [](const Call& c) { return vdot(c.tensor("self"), c.tensor("other")); }},
    {"aten._grouped_mm.default", by<grouped_product>},
    {"transformers.grouped_mm_fallback.default", by<grouped_product>},
    {"aten.linalg_matrix_exp.default", [](const Call& c) { return matrix_exp(c.tensor("self")); }},
    {"aten._trilinear.default", by<product_of_three>},
};

}  // namespace
}  // namespace product_rows

std::span<const Operator> product_operators() { return product_rows::rows; }

}  // namespace tilewright::exported
