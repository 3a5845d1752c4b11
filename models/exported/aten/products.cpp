// Products of matrices, with what is added to them.
#include <algorithm>
#include <string>

#include "graph/functions/reducing/products.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

AddedProduct factors_of(const Call& call) {
  return {call.scalar("beta", 1), call.scalar("alpha", 1)};
}

// Sums over `sumdim` of a product of three, each with axes of size 1 inserted at its own places.
Tensor trilinear(const Call& call) {
  std::vector<Tensor> operands = {call.tensor("i1"), call.tensor("i2"), call.tensor("i3")};
  std::vector<std::vector<int>> inserted = {call.axes("expand1"), call.axes("expand2"),
                                            call.axes("expand3")};
  std::vector<int> summed = call.axes("sumdim");
  int rank = operands[0].rank() + static_cast<int>(inserted[0].size());
  if (rank > 26) call.refuse("i1", "has too many axes");
  if (call.integer("unroll_dim", 1) < 0) call.refuse("unroll_dim", "is below 0");
  auto letters_without = [&](const std::vector<int>& axes) {
    std::string letters;
    for (int axis = 0; axis < rank; ++axis)
      if (std::ranges::find(axes, axis) == axes.end()) letters += static_cast<char>('a' + axis);
    return letters;
  };
  std::string equation;
  for (const auto& axes : inserted)
    equation += (equation.empty() ? "" : ",") + letters_without(axes);
  return einsum(equation + "->" + letters_without(summed), operands);
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
    {"aten._trilinear.default", by<trilinear>},
};

}  // namespace

std::span<const Operator> product_operators() { return rows; }

}  // namespace tilewright::exported
