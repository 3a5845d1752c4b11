#include "dsl/language/words/arranging.h"

#include <algorithm>

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl {
namespace {

using words::choice;
using words::Term;

// The shape with another size along the axis.
Shape resized(Shape shape, int axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

// first, first + 1, ... along the axis of a shape.
Term places(const OperationUse& site, const Shape& shape, int axis, std::int64_t first = 0) {
  Tile line = site.append(ir::Op::arange_, {}, ir::Bounds{first, first + shape[axis]});
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) line = site.append(ir::Op::expand_dims_, {line}, ir::Axis{i});
  return {site.broadcast(line, shape), site.where()};
}

Tile gathered(const OperationUse& site, const Tile& source, const Tile& index, int axis) {
  return site.append(ir::Op::gather_, {source, index}, ir::Axis{axis});
}

Tile tile_of_axes(const OperationUse& site, const Operand& x) {
  Tile tile = site.tile(x);
  site.expect(!tile.type().is_descriptor() && tile.shape().rank() > 0, "the operand is ",
              tile.type(), "; it must have an axis");
  return tile;
}

std::vector<Tile> two_of_one_type(const OperationUse& site, const Operand& a, const Operand& b) {
  return site.unify(std::vector<Operand>{a, b});
}

}  // namespace

Tile gather(const Operand& source, const Operand& index, int axis) {
  OperationUse site("gather", source.where);
  Tile from = tile_of_axes(site, source), chosen = site.tile(index, DType::i32);
  int along = site.axis(axis, from.shape().rank());
  if (chosen.type().is_value() && chosen.shape().rank() == from.shape().rank())
    chosen = site.broadcast(chosen, resized(from.shape(), along, chosen.shape()[along]));
  return gathered(site, from, chosen, along);
}

Tile flip(const Operand& x, int axis) {
  OperationUse site("flip", x.where);
  Tile tile = tile_of_axes(site, x);
  int along = site.axis(axis, tile.shape().rank());
  const Term last = Term(tile.shape()[along] - 1);
  return gathered(site, tile, (last - places(site, tile.shape(), along)).tile(), along);
}

Tile join(const Operand& a, const Operand& b) {
  OperationUse site("join", a.where);
  std::vector<Tile> both = two_of_one_type(site, a, b);
  Shape shape = both[0].shape();
  const int axis = shape.rank();
  shape.push_back(2);
  for (Tile& tile : both)
    tile = site.broadcast(site.append(ir::Op::expand_dims_, {tile}, ir::Axis{axis}), shape);
  return choice(places(site, shape, axis) == 0, Term(both[0], a.where), Term(both[1], a.where))
      .tile();
}

std::pair<Tile, Tile> split(const Operand& x) {
  OperationUse site("split", x.where);
  Tile tile = tile_of_axes(site, x);
  Shape shape = tile.shape();
  const int axis = shape.rank() - 1;
  site.expect(shape[axis] == 2, "the operand is ", tile.type(),
              "; its last axis must have two elements");
  const Shape one = resized(shape, axis, 1);
  Shape without = shape;
  without.pop_back();
  auto part = [&](std::int64_t place) {
    Tile chosen = gathered(site, tile, places(site, one, axis, place).tile(), axis);
    return site.append(ir::Op::reshape_, {chosen}, ir::Extent{without});
  };
  Tile first = part(0);
  return {first, part(1)};
}

Tile interleave(const Operand& a, const Operand& b) {
  OperationUse site("interleave", a.where);
  Tile joined = join(a, b);
  Shape shape = joined.shape();
  site.expect(shape.rank() >= 2, "the operands are scalars; they must have an axis");
  shape.pop_back();
  shape.back() *= 2;
  return site.append(ir::Op::reshape_, {joined}, ir::Extent{shape});
}

Tile cat(const Operand& a, const Operand& b, int axis) {
  OperationUse site("cat", a.where);
  Tile first = tile_of_axes(site, a), second = tile_of_axes(site, b);
  int along = site.axis(axis, first.shape().rank());
  const std::int64_t size = first.shape()[along];
  const bool fits = second.shape().rank() == first.shape().rank() &&
                    resized(second.shape(), along, size) == first.shape() &&
                    second.dtype() == first.dtype();
  site.expect(fits, "the operands are ", first.type(), " and ", second.type(),
              "; they must agree but for the size along axis ", along);
  const Shape shape = resized(first.shape(), along, size + second.shape()[along]);
  const Term place = places(site, shape, along);
  const Term begin(gathered(site, first, place.tile(), along), a.where);
  const Term end(gathered(site, second, (place - size).tile(), along), a.where);
  return choice(place < size, begin, end).tile();
}

Tile ravel(const Operand& x) {
  OperationUse site("ravel", x.where);
  Tile tile = site.tile(x);
  return reshape(Operand(tile, x.where), {element_count(tile.shape())});
}

Tile view(const Operand& x, const Shape& shape) { return reshape(x, shape); }

Tile squeeze(const Operand& x, int axis) {
  OperationUse site("squeeze", x.where);
  Tile tile = tile_of_axes(site, x);
  Shape shape = tile.shape();
  int along = site.axis(axis, shape.rank());
  site.expect(shape[along] == 1, "axis ", along, " of ", tile.type(), " has ", shape[along],
              " elements; an axis that goes away must have one");
  shape.erase(shape.begin() + along);
  return site.append(ir::Op::reshape_, {tile}, ir::Extent{shape});
}

Tile unsqueeze(const Operand& x, int axis) { return expand_dims(x, axis); }

std::pair<Tile, Tile> broadcast(const Operand& a, const Operand& b) {
  OperationUse site("broadcast", a.where);
  std::vector<Tile> both = site.broadcast_together({site.tile(a), site.tile(b)});
  return {both[0], both[1]};
}

Tile zeros_like(const Operand& x) {
  OperationUse site("zeros_like", x.where);
  ir::Type type = site.tile(x).type();
  site.expect(type.is_value(), "the operand is ", type,
              "; it must be a scalar or a tile of numbers");
  return detail::full(type.shape, Operand(0, x.where), type.dtype);
}

Tile sliced(const Operand& x, const Slices& slices) {
  OperationUse site("slice", slices.where);
  Tile tile = site.tile(x);
  const std::int64_t axes = std::ranges::count(slices.list, Slice::whole);
  site.expect(axes <= tile.shape().rank(), "there are ", axes, " axes in the brackets, and ",
              tile.type(), " has ", tile.shape().rank());
  int axis = 0;
  for (Slice slice : slices.list) {
    if (slice == Slice::None) tile = site.append(ir::Op::expand_dims_, {tile}, ir::Axis{axis});
    ++axis;
  }
  return tile;
}

Tile Tile::operator[](const Slices& slices) const {
  return sliced(Operand(*this, slices.where), slices);
}

std::pair<Tile, Tile> swizzle2d(const Operand& i, const Operand& j, const Operand& size_i,
                                const Operand& size_j, const Operand& size_g) {
  OperationUse site("swizzle2d", i.where);
  std::vector<Tile> all = site.unify(std::vector<Operand>{i, j, size_i, size_j, size_g});
  site.expect(is_integer(all[0].dtype()), "the operands are ", all[0].dtype(),
              "; they must be integers");
  std::vector<Term> t;
  for (const Tile& tile : all) t.emplace_back(tile, i.where);
  const Term number = t[0] * t[3] + t[1], in_group = t[4] * t[3];
  const Term first = number / in_group * t[4], rows = lesser(t[2] - first, t[4]);
  const Term rest = number % in_group;
  return {(first + rest % rows).tile(), (rest / rows).tile()};
}

}  // namespace tilewright::dsl
