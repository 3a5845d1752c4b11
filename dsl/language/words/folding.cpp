#include "dsl/language/words/folding.h"

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl {
namespace {

using ir::ReduceKind;
using words::choice;
using words::Term;

// A tuple of tiles of one shape, folded along one of its axes.
class Fold {
 public:
  Fold(std::string_view word, const std::vector<Operand>& x, int axis, const CombineTuples& combine)
      : site_(word, x.empty() ? std::source_location::current() : x.front().where),
        combine_(combine),
        tiles_(operands(x)),
        axis_(site_.axis(axis, tiles_.front().shape().rank())) {}

  // Pairs of neighbours become one until there is one; of an odd number the last waits.
  Tiles reduced(bool keep_dims) {
    while (size() > 1) {
      const std::int64_t half = (size() + 1) / 2;
      const Term place = places(half) * 2;
      const Tiles before = moved(tiles_, place), after = moved(tiles_, place + 1);
      Tiles both = combined(before, after);
      if (size() % 2 != 0) both = chosen(place + 1 < size(), both, before);
      tiles_ = std::move(both);
    }
    Shape shape = tiles_.front().shape();
    if (!keep_dims) shape.erase(shape.begin() + axis_);
    for (Tile& tile : tiles_)
      if (!keep_dims) tile = site_.append(ir::Op::reshape_, {tile}, ir::Extent{shape});
    return tiles_;
  }

  // After step k each place combines the 2^k up to it (Hillis and Steele).
  Tiles scanned(bool reverse) {
    const Term place = places(size());
    for (std::int64_t distance = 1; distance < size(); distance *= 2) {
      const Tiles other = moved(tiles_, reverse ? place + distance : place - distance);
      const Term is_there = reverse ? place < size() - distance : place >= distance;
      const Tiles both = combined(other, tiles_);
      tiles_ = chosen(is_there, both, tiles_);
    }
    return tiles_;
  }

 private:
  Tiles operands(const std::vector<Operand>& x) const {
    site_.expect(!x.empty(), "there are no operands; it takes one or more");
    Tiles tiles;
    for (const Operand& operand : x) {
      tiles.push_back(site_.tile(operand));
      site_.expect(tiles.back().type().is_value(), "an operand is ", tiles.back().type(),
                   "; it must be a tile of numbers");
    }
    tiles = site_.broadcast_together(std::move(tiles));
    site_.expect(!tiles.front().shape().empty(), "the operand is ", tiles.front().type(),
                 "; it must have an axis");
    return tiles;
  }

  std::int64_t size() const { return tiles_.front().shape()[axis_]; }

  // 0, 1, ... along the axis, of `count` elements there and the others' sizes.
  Term places(std::int64_t count) const {
    Shape shape = tiles_.front().shape();
    shape[axis_] = count;
    Tile line = site_.append(ir::Op::arange_, {}, ir::Bounds{0, count});
    for (int i = 0; i < shape.rank(); ++i)
      if (i != axis_) line = site_.append(ir::Op::expand_dims_, {line}, ir::Axis{i});
    return {site_.broadcast(line, shape), site_.where()};
  }

  Tiles moved(const Tiles& tiles, const Term& index) const {
    Tiles result;
    for (const Tile& tile : tiles)
      result.push_back(site_.append(ir::Op::gather_, {tile, index.tile()}, ir::Axis{axis_}));
    return result;
  }

  Tiles chosen(const Term& condition, const Tiles& a, const Tiles& b) const {
    Tiles result;
    for (std::size_t i = 0; i < a.size(); ++i)
      result.push_back(
          choice(condition, Term(a[i], site_.where()), Term(b[i], site_.where())).tile());
    return result;
  }

  Tiles combined(const Tiles& before, const Tiles& after) const {
    Tiles both = combine_(before, after);
    site_.expect(both.size() == before.size(), "the function gives ", both.size(), " tiles of ",
                 before.size(), "; it must give one for each");
    for (std::size_t i = 0; i < both.size(); ++i) {
      site_.tracer().require_usable(both[i], site_.operation(), site_.where());
      site_.expect(both[i].type() == before[i].type(), "the function gives ", both[i].type(),
                   " of two ", before[i].type(), "; it must keep the type");
    }
    return both;
  }

  OperationUse site_;
  const CombineTuples& combine_;
  Tiles tiles_;
  int axis_;
};

CombineTuples of_one(const Combine& combine) {
  return [&combine](const Tiles& a, const Tiles& b) { return Tiles{combine(a[0], b[0])}; };
}

Operand line(const Operand& x) {
  OperationUse site("reduce", x.where);
  Tile tile = site.tile(x);
  return {reshape(Operand(tile, x.where), {element_count(tile.shape())}), x.where};
}

}  // namespace

Tile reduce(const Operand& x, int axis, const Combine& combine, bool keep_dims) {
  return reduce(std::vector<Operand>{x}, axis, of_one(combine), keep_dims).front();
}

Tiles reduce(const std::vector<Operand>& x, int axis, const CombineTuples& combine,
             bool keep_dims) {
  return Fold("reduce", x, axis, combine).reduced(keep_dims);
}

Tile reduce(const Operand& x, const Combine& combine) { return reduce(line(x), 0, combine); }
Tile reduce(const Operand& x, ReduceKind kind) { return reduce(line(x), kind, 0); }
Tile sum(const Operand& x) { return reduce(x, ReduceKind::sum); }
Tile max(const Operand& x) { return reduce(x, ReduceKind::max); }
Tile min(const Operand& x) { return reduce(x, ReduceKind::min); }

Tile prod(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::prod, axis, keep_dims);
}
Tile xor_sum(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::bit_xor, axis, keep_dims);
}
Tile reduce_or(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::bit_or, axis, keep_dims);
}
Tile reduce_and(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::bit_and, axis, keep_dims);
}
Tile any(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::any, axis, keep_dims);
}
Tile all(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::all, axis, keep_dims);
}

Tile argmax(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::argmax, axis, keep_dims);
}
Tile argmin(const Operand& x, int axis, bool keep_dims) {
  return reduce(x, ReduceKind::argmin, axis, keep_dims);
}
Tile argmax(const Operand& x) { return reduce(x, ReduceKind::argmax); }
Tile argmin(const Operand& x) { return reduce(x, ReduceKind::argmin); }

ElementAndIndex max_with_index(const Operand& x, int axis, bool keep_dims) {
  Tile value = max(x, axis, keep_dims);
  return {value, argmax(x, axis, keep_dims)};
}
ElementAndIndex min_with_index(const Operand& x, int axis, bool keep_dims) {
  Tile value = min(x, axis, keep_dims);
  return {value, argmin(x, axis, keep_dims)};
}

Tile associative_scan(const Operand& x, int axis, const Combine& combine, bool reverse) {
  return associative_scan(std::vector<Operand>{x}, axis, of_one(combine), reverse).front();
}

Tiles associative_scan(const std::vector<Operand>& x, int axis, const CombineTuples& combine,
                       bool reverse) {
  return Fold("associative_scan", x, axis, combine).scanned(reverse);
}

Tile cumsum(const Operand& x, int axis, bool reverse) {
  return associative_scan(
      x, axis,
      [&](const Tile& a, const Tile& b) { return Operand(a, x.where) + Operand(b, x.where); },
      reverse);
}

Tile cumprod(const Operand& x, int axis, bool reverse) {
  return associative_scan(
      x, axis,
      [&](const Tile& a, const Tile& b) { return Operand(a, x.where) * Operand(b, x.where); },
      reverse);
}

}  // namespace tilewright::dsl
