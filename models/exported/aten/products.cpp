// Products of matrices, with what is added to them.
#include "graph/functions/reducing/products.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
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

constexpr Operator rows[] = {
    {"aten.mm.default", [](const Call& c) { return mm(c.tensor("self"), c.tensor("mat2")); }},
    {"aten.bmm.default", [](const Call& c) { return bmm(c.tensor("self"), c.tensor("mat2")); }},
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
    {"aten.linalg_matrix_exp.default", [](const Call& c) { return matrix_exp(c.tensor("self")); }},
    {"aten._trilinear.default", by<product_of_three>},
};

}  // namespace

std::span<const Operator> product_operators() { return rows; }

}  // namespace tilewright::exported
