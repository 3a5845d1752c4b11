#include "dsl/language/words/products.h"

#include "dsl/ir/type_rules.h"
#include "dsl/language/operands.h"
#include "dsl/language/term.h"
#include "dsl/language/words/arranging.h"

namespace tilewright::dsl {
namespace {

using words::choice;
using words::Term;

// The matrix at a place of a stack.
Tile matrix_of(const OperationUse& site, const Tile& stack, std::int64_t place) {
  const Shape& shape = stack.shape();
  const Operand index(detail::full({1, 1, 1}, Operand(place, site.where()), DType::i32),
                      site.where());
  Tile one = shape[0] == 1 ? stack : gather(Operand(stack, site.where()), index, 0);
  return site.append(ir::Op::reshape_, {one}, ir::Extent{{shape[1], shape[2]}});
}

// [B, M, N] of matrices [M, N].
Term stacked(const OperationUse& site, const std::vector<Tile>& matrices) {
  Shape shape = matrices[0].shape();
  shape.insert(shape.begin(), 1);
  Term stack(site.append(ir::Op::reshape_, {matrices[0]}, ir::Extent{shape}), site.where());
  const std::int64_t count = std::ssize(matrices);
  if (count == 1) return stack;
  shape[0] = count;
  stack = {site.broadcast(stack.tile(), shape), site.where()};
  Tile places = reshape(Operand(arange(0, count, site.where()), site.where()), {count, 1, 1});
  const Term place(site.broadcast(places, shape), site.where());
  for (std::int64_t i = 1; i < count; ++i)
    stack =
        choice(place == i,
               {site.broadcast(matrices[static_cast<std::size_t>(i)], shape), site.where()}, stack);
  return stack;
}

// acc + a b, place by place along the first axis.
Tile product_of_stacks(const OperationUse& site, const Tile& left, const Tile& right,
                       const std::optional<Operand>& acc, InputPrecision precision) {
  const Shape &x = left.shape(), &y = right.shape();
  site.expect(x.rank() == 3 && y.rank() == 3, "the operands are ", left.type(), " and ",
              right.type(), "; both must have two axes, or both three");
  site.expect(x[0] == y[0], "the stacks differ in size: a is ", x, ", b is ", y,
              "; each matrix of a is multiplied by the one of b at its place");
  std::vector<Tile> products;
  for (std::int64_t i = 0; i < x[0]; ++i)
    products.push_back(dot(Operand(matrix_of(site, left, i), site.where()),
                           Operand(matrix_of(site, right, i), site.where()),
                           Operand(0, site.where()), precision));
  const Term sum = stacked(site, products);
  if (!acc) return sum.tile();
  return (sum + Term(site.fit(*acc, sum.tile().type(), "the accumulator"), site.where())).tile();
}

bool is_stack(const Tile& x) { return x.type().is_value() && x.shape().rank() == 3; }

// acc + a b, with 0 for no accumulator.
Tile product(const Operand& a, const Operand& b, const std::optional<Operand>& acc,
             InputPrecision precision) {
  OperationUse site("dot", a.where);
  Tile left = site.tile(a), right = site.tile(b);
  if (is_stack(left) || is_stack(right))
    return product_of_stacks(site, left, right, acc, precision);
  ir::Precision input{precision};
  if (acc && !acc->is_number())
    return site.append(ir::Op::dot_, {left, right, site.tile(*acc)}, input);
  ir::Type from = left.type();
  site.expect(from.shape.rank() == 2 && right.shape().rank() == 2, "the operands are ", from,
              " and ", right.type(), "; each must have two axes, or each three");
  ir::Type sums = ir::Type::tile(ir::product_dtype(from.dtype), {from.shape[0], right.shape()[1]});
  Tile begun = site.fit(acc.value_or(Operand(0, a.where)), sums, "the accumulator");
  return site.append(ir::Op::dot_, {left, right, begun}, input);
}

}  // namespace

Tile dot(const Operand& a, const Operand& b) { return product(a, b, {}, InputPrecision::ieee); }

Tile dot(const Operand& a, const Operand& b, const Operand& acc, InputPrecision precision) {
  return product(a, b, acc, precision);
}

Tile dot(const Operand& a, const Operand& b, DType out, InputPrecision precision) {
  return dot(a, b, Operand(0, a.where), precision, out);
}

Tile dot(const Operand& a, const Operand& b, const Operand& acc, InputPrecision precision,
         DType out) {
  OperationUse site("dot", a.where);
  const DType sums = ir::product_dtype(site.tile(a).dtype());
  site.expect(!is_boolean(out) && is_floating(out) == is_floating(sums), "the result is to be ",
              out, ", the sums are ", sums, "; both must be floating, or both whole numbers");
  if (acc.is_number()) return cast(Operand(dot(a, b, acc, precision), a.where), out);
  ir::Type begun = site.tile(acc).type();
  site.expect(begun.is_value() && begun.dtype == out, "the accumulator is ", begun, "; it must be ",
              out, " as the result");
  const Operand wide(cast(acc, sums), a.where);
  return cast(Operand(dot(a, b, wide, precision), a.where), out);
}

}  // namespace tilewright::dsl
