// Products of matrices, with what is added to them.
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

TensorOperand operand_of(const Number& number) {
  TensorOperand operand(0);
  operand.number = number;
  return operand;
}

// beta * self + alpha * product. With beta 0 what is in self does not count, be it NaN.
Tensor with_addend(const Call& call, Tensor product) {
  Number beta = call.scalar("beta", 1), alpha = call.scalar("alpha", 1);
  Tensor self = call.tensor("self");
  if (alpha.as_double() != 1) product = product * operand_of(alpha);
  if (beta.as_double() == 0) return product;
  return product + (beta.as_double() == 1 ? self : self * operand_of(beta));
}

// The sum of the batch's products, as one product whose sums go on through the batch.
Tensor batches_added(const Call& call) {
  Tensor a = call.tensor("batch1"), b = call.tensor("batch2");
  Tensor left = a.permute({1, 0, 2}).reshape({a.size(1), a.size(0) * a.size(2)});
  return with_addend(call, matmul(left, b.reshape({b.size(0) * b.size(1), b.size(2)})));
}

constexpr Operator rows[] = {
    {"aten.mm.default", [](const Call& c) { return matmul(c.tensor("self"), c.tensor("mat2")); }},
    {"aten.bmm.default", [](const Call& c) { return matmul(c.tensor("self"), c.tensor("mat2")); }},
    {"aten.mv.default", [](const Call& c) { return matmul(c.tensor("self"), c.tensor("vec")); }},
    {"aten.dot.default",
     [](const Call& c) { return matmul(c.tensor("self"), c.tensor("tensor")); }},
    {"aten.addmm.default",
     [](const Call& c) { return with_addend(c, matmul(c.tensor("mat1"), c.tensor("mat2"))); }},
    {"aten.addmv.default",
     [](const Call& c) { return with_addend(c, matmul(c.tensor("mat"), c.tensor("vec"))); }},
    {"aten.baddbmm.default",
     [](const Call& c) { return with_addend(c, matmul(c.tensor("batch1"), c.tensor("batch2"))); }},
    {"aten.addbmm.default", by<batches_added>},
};

}  // namespace

std::span<const Operator> product_operators() { return rows; }

}  // namespace tilewright::exported
