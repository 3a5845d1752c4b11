#include "dsl/language/words/descriptors.h"

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::choice;
using words::Term;

// Elements of the array as pointers, and which of them there are.
struct Elements {
  Tile pointers, are_inside;
};

// The elements at one index an axis of the array, which broadcast to `shape`.
Elements elements(const OperationUse& site, const Desc& desc, const std::vector<Term>& indices,
                  const Shape& shape) {
  const Desc::Parts& parts = desc.parts();
  site.expect(!parts.sizes.empty() && parts.sizes.size() == indices.size(), "there are ",
              indices.size(), " offsets for a descriptor of ", parts.sizes.size(),
              " axes; each must have one");
  auto spread = [&](const Term& x) {
    return Term(site.broadcast(as_type(x, DType::i64).tile(), shape), site.where());
  };
  std::optional<Term> place, inside;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const Term index = spread(indices[axis]);
    const Term size = as_type(Term(parts.sizes[axis], site.where()), DType::i64);
    const Term stride = as_type(Term(parts.strides[axis], site.where()), DType::i64);
    const Term here = (index >= 0) & (index < size), step = index * stride;
    place = place ? *place + step : step;
    inside = inside ? *inside & here : here;
  }
  // Elements outside are not even pointed at.
  const Term base(parts.base, site.where());
  return {(base + choice(*inside, *place, 0)).tile(), inside->tile()};
}

Term counted(const OperationUse& site, const Term& first, std::int64_t count, int axis, int rank) {
  Tile line = site.append(ir::Op::arange_, {}, ir::Bounds{0, count});
  for (int i = 0; i < rank; ++i)
    if (i != axis) line = site.append(ir::Op::expand_dims_, {line}, ir::Axis{i});
  return as_type(first, DType::i64) + as_type(Term(line, site.where()), DType::i64);
}

Elements rows_of(const OperationUse& site, const Desc& desc, const Operand& rows,
                 const Operand& column, std::int64_t columns) {
  Tile chosen = site.tile(rows), first = site.tile(column, DType::i64);
  site.expect(chosen.type().is_value() && chosen.shape().rank() == 1 && is_integer(chosen.dtype()),
              "the rows are ", chosen.type(), "; they must be a tile of integers with one axis");
  site.expect(first.type().is_value() && first.shape().empty() && is_integer(first.dtype()),
              "the column is ", first.type(), "; it must be an integer scalar");
  site.expect(columns >= 1, "there are ", columns, " columns; there must be one or more");
  const Term down(site.append(ir::Op::expand_dims_, {chosen}, ir::Axis{1}), site.where());
  const Term across = counted(site, Term(first, site.where()), columns, 1, 2);
  return elements(site, desc, {down, across}, {chosen.shape()[0], columns});
}

}  // namespace

Tile gather(const Desc& desc, const Operand& rows, const Operand& column, std::int64_t columns) {
  OperationUse site("gather", rows.where);
  const Elements from = rows_of(site, desc, rows, column, columns);
  return load(Operand(from.pointers, site.where()), Operand(from.are_inside, site.where()));
}

void scatter(const Desc& desc, const Operand& value, const Operand& rows, const Operand& column) {
  OperationUse site("scatter", value.where);
  Tile from = site.tile(value);
  site.expect(from.type().is_value() && from.shape().rank() == 2, "the value is ", from.type(),
              "; it must have two axes");
  const Elements to = rows_of(site, desc, rows, column, from.shape()[1]);
  store(Operand(to.pointers, site.where()), value, Operand(to.are_inside, site.where()));
}

Tile atomic(ir::AtomicKind kind, const Desc& desc, const std::vector<Operand>& offsets,
            const Operand& value, Ordering ordering) {
  OperationUse site("atomic", value.where);
  Tile from = site.tile(value);
  const Shape shape = from.shape();
  site.expect(offsets.size() == shape.size(), "there are ", offsets.size(),
              " offsets, the value is ", from.type(), "; there must be one an axis");
  std::vector<Term> indices;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Term first(site.tile(offsets[static_cast<std::size_t>(axis)], DType::i64), site.where());
    indices.push_back(counted(site, first, shape[axis], axis, shape.rank()));
  }
  const Elements at = elements(site, desc, indices, shape);
  return atomic(kind, Operand(at.pointers, site.where()), value,
                Operand(at.are_inside, site.where()), ordering);
}

#define TILEWRIGHT_DESCRIPTOR_ATOMIC(name, kind)                                                  \
  Tile atomic_##name(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value, \
                     Ordering ordering) {                                                         \
    return atomic(ir::AtomicKind::kind, desc, offsets, value, ordering);                          \
  }
TILEWRIGHT_DESCRIPTOR_ATOMIC(add, add)
TILEWRIGHT_DESCRIPTOR_ATOMIC(max, max)
TILEWRIGHT_DESCRIPTOR_ATOMIC(min, min)
TILEWRIGHT_DESCRIPTOR_ATOMIC(and, and_)
TILEWRIGHT_DESCRIPTOR_ATOMIC(or, or_)
TILEWRIGHT_DESCRIPTOR_ATOMIC(xor, xor_)
#undef TILEWRIGHT_DESCRIPTOR_ATOMIC

}  // namespace tilewright::dsl
