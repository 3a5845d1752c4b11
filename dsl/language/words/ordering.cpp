#include "dsl/language/words/ordering.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "dsl/language/operands.h"
#include "dsl/language/term.h"
#include "dsl/language/words/arranging.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::bits_as;
using words::choice;
using words::Term;

std::int64_t power_of_two_from(std::int64_t size) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
}

DType integer_of(DType floating) {
  switch (bit_width(floating)) {
    case 16: return DType::i16;
    case 32: return DType::i32;
    default: return DType::i64;
  }
}

std::int64_t greatest(DType signed_integer) {
  return INT64_MAX >> (64 - bit_width(signed_integer));
}

// The numbers along one axis of a tile, as keys that integers order.
class KeyOrder {
 public:
  KeyOrder(std::string_view word, const Operand& x, int axis, bool descending)
      : site_(word, x.where), tile_(operand(x)), descending_(descending) {
    axis_ = site_.axis(axis, tile_.shape().rank());
    size_ = tile_.shape()[axis_];
    full_ = power_of_two_from(size_);
  }

  Tile sorted(std::int64_t count) {
    expect_count(count);
    Tiles keys{filled_up(keys_of())};
    put_in_order(keys, count);
    return number_of(first(keys[0], count));
  }

  // Sorts keys that rise and then fall, or the other way round.
  Tile merged() {
    site_.expect(full_ == size_, "axis ", axis_, " of ", tile_.type(), " has ", size_,
                 " elements; the number of merged elements must be a power of two");
    Tiles keys{keys_of().tile()};
    merge(keys, places(full_), full_);
    return number_of(keys[0]);
  }

  ElementAndIndex with_index(std::int64_t count) {
    expect_count(count);
    // Padding stands behind all other keys, by its place.
    Tiles tiles{filled_up(keys_of()), places(full_).tile()};
    put_in_order(tiles, count);
    return {number_of(first(tiles[0], count)), first(tiles[1], count)};
  }

 private:
  Tile operand(const Operand& x) const {
    Tile tile = site_.tile(x);
    ir::Type type = tile.type();
    site_.expect(type.is_value() && !type.shape.empty() && !is_float8(type.dtype),
                 "the operand is ", type,
                 "; it must be a tile, of floats of 16 bits at the least where it is floating");
    return tile;
  }

  void expect_count(std::int64_t count) const {
    site_.expect(count >= 1 && count <= size_, "the count is ", count, "; axis ", axis_, " of ",
                 tile_.type(), " has 1 to ", size_, " elements to give");
  }

  Term term(const Tile& tile) const { return {tile, site_.where()}; }

  Term places(std::int64_t count) const {
    Shape shape = tile_.shape();
    shape[axis_] = count;
    Tile line = site_.append(ir::Op::arange_, {}, ir::Bounds{0, count});
    for (int i = 0; i < shape.rank(); ++i)
      if (i != axis_) line = site_.append(ir::Op::expand_dims_, {line}, ir::Axis{i});
    return term(site_.broadcast(line, shape));
  }

  Tile moved(const Tile& tile, const Term& index) const {
    return site_.append(ir::Op::gather_, {tile, index.tile()}, ir::Axis{axis_});
  }

  // Integers whose ascending order is the one that is wanted.
  Term keys_of() const {
    const DType dtype = tile_.dtype();
    Term key = term(tile_);
    if (is_boolean(dtype)) key = as_type(key, DType::i8);
    if (is_floating(dtype)) {
      const DType integer = integer_of(dtype);
      const Term bits = bits_as(key, integer);
      const Term ordered = choice(bits < 0, bits ^ greatest(integer), bits);
      key = choice(key == key, ordered, greatest(integer));
    }
    return descending_ ? ~key : key;
  }

  Tile number_of(const Tile& sorted) const {
    const DType dtype = tile_.dtype();
    Term key = descending_ ? ~term(sorted) : term(sorted);
    if (is_floating(dtype)) {
      const DType integer = integer_of(dtype);
      return bits_as(choice(key < 0, key ^ greatest(integer), key), dtype).tile();
    }
    return is_boolean(dtype) ? (key != 0).tile() : key.tile();
  }

  // With keys behind which no other comes, up to a power of two.
  Tile filled_up(const Term& key) const {
    if (full_ == size_) return key.tile();
    const DType dtype = key.dtype();
    const bool is_unsigned = kind_of(dtype) == DTypeKind::unsigned_integer;
    const Term place = places(full_);
    const Term all = term(moved(key.tile(), place));
    const Term last = is_unsigned ? ~all.number(0) : all.number(greatest(dtype));
    return choice(place < size_, all, last).tile();
  }

  Tile first(const Tile& tile, std::int64_t count) const {
    return count == tile.shape()[axis_] ? tile : moved(tile, places(count));
  }

  // The first `count` of them, and perhaps more.
  void put_in_order(Tiles& tiles, std::int64_t count) const {
    const std::int64_t kept = power_of_two_from(count);
    sort_blocks(tiles, kept);
    for (std::int64_t size = full_; size > kept; size /= 2) halve(tiles, size, kept);
  }

  // Each merge of two sorted halves compares the first with the last, the second with the last but
  // one, and so on; then neighbours at ever smaller distances. The lesser goes to the front.
  void sort_blocks(Tiles& tiles, std::int64_t block) const {
    if (block == 1) return;
    const Term place = places(full_);
    for (std::int64_t merged = 2; merged <= block; merged *= 2) {
      exchange(tiles, place, merged - 1, merged / 2);
      merge(tiles, place, merged / 2);
    }
  }

  // Keeps the lesser half of each two neighbouring sorted blocks, sorted.
  void halve(Tiles& tiles, std::int64_t size, std::int64_t block) const {
    exchange(tiles, places(size), 2 * block - 1, block);
    const Term place = places(size / 2), in_block = place & (block - 1);
    const Term chosen = (place - in_block) * 2 + in_block;
    for (Tile& tile : tiles) tile = moved(tile, chosen);
    merge(tiles, place, block);
  }

  void merge(Tiles& tiles, const Term& place, std::int64_t block) const {
    for (std::int64_t distance = block / 2; distance > 0; distance /= 2)
      exchange(tiles, place, distance, distance);
  }

  // The element without `bit` in its place comes first; the other one's place differs by `mask`.
  void exchange(Tiles& tiles, const Term& place, std::int64_t mask, std::int64_t bit) const {
    const Term other = place ^ mask, is_front = (place & bit) == 0;
    const Term key = term(tiles[0]), partner = term(moved(tiles[0], other));
    if (tiles.size() == 1) {
      tiles[0] = choice(is_front, lesser(key, partner), greater(key, partner)).tile();
      return;
    }
    const Term index = term(tiles[1]), its = term(moved(tiles[1], other));
    const Term is_before = (key < partner) | ((key == partner) & (index < its));
    const Term stays = is_before == is_front;
    tiles[0] = choice(stays, key, partner).tile();
    tiles[1] = choice(stays, index, its).tile();
  }

  OperationUse site_;
  Tile tile_;
  bool descending_;
  int axis_ = 0;
  std::int64_t size_ = 0, full_ = 0;
};

std::int64_t size_along(const Operand& x, int axis) {
  OperationUse site("sort", x.where);
  Shape shape = site.tile(x).shape();
  return shape[site.axis(axis, shape.rank())];
}

}  // namespace

Tile sort(const Operand& x, int axis, bool descending) {
  return KeyOrder("sort", x, axis, descending).sorted(size_along(x, axis));
}

ElementAndIndex sort_with_index(const Operand& x, int axis, bool descending) {
  return KeyOrder("sort", x, axis, descending).with_index(size_along(x, axis));
}

Tile bitonic_merge(const Operand& x, int axis, bool descending) {
  return KeyOrder("bitonic_merge", x, axis, descending).merged();
}

Tile topk(const Operand& x, std::int64_t k, int axis) {
  return KeyOrder("topk", x, axis, true).sorted(k);
}

ElementAndIndex topk_with_index(const Operand& x, std::int64_t k, int axis) {
  return KeyOrder("topk", x, axis, true).with_index(k);
}

Tile histogram(const Operand& x, std::int64_t bins) {
  return histogram(x, bins, Operand(true, x.where));
}

// Some elements at a time are compared with all bins.
Tile histogram(const Operand& x, std::int64_t bins, const Operand& mask) {
  constexpr std::int64_t compared_at_once = 4096;
  OperationUse site("histogram", x.where);
  ir::Type type = site.tile(x).type();
  site.expect(type.is_value() && is_integer(type.dtype), "the operand is ", type,
              "; it must be a tile of integers");
  site.expect(bins >= 1, "there are ", bins, " bins; there must be one or more");
  std::vector<Tile> both = site.broadcast_together({site.tile(x), site.tile(mask, DType::boolean)});
  const std::int64_t count = element_count(both[0].shape());
  auto line = [&](const Tile& tile) { return reshape(Operand(tile, x.where), {count}); };
  const Term flat(line(both[0]), x.where), counted(line(both[1]), x.where);
  const std::int64_t part = std::clamp<std::int64_t>(compared_at_once / bins, 1, count);
  const Term place(site.append(ir::Op::arange_, {}, ir::Bounds{0, part}), x.where);
  const Term wide = as_type(flat, DType::i64);
  const Term bin(
      sliced(Operand(cast(Operand(site.append(ir::Op::arange_, {}, ir::Bounds{0, bins}), x.where),
                          DType::i64),
                     x.where),
             {None, whole}),
      x.where);
  Var total(zeros({bins}, DType::i32, x.where), x.where);
  for (Tile begin :
       range(Operand(0, x.where), Operand(count, x.where), Operand(part, x.where), x.where)) {
    const Term index = as_type(place, DType::i64) + Term(begin, x.where);
    auto moved = [&](const Term& from) {
      Tile chosen = site.append(ir::Op::gather_, {from.tile(), index.tile()}, ir::Axis{0});
      return Term(site.append(ir::Op::expand_dims_, {chosen}, ir::Axis{1}), x.where);
    };
    const Term is_new = (index < count);
    const Term column(site.append(ir::Op::expand_dims_, {is_new.tile()}, ir::Axis{1}), x.where);
    const Term hits = (moved(wide) == bin) & moved(counted) & column;
    total = Operand(total, x.where) + Operand(sum(as_type(hits, DType::i32).operand(), 0), x.where);
  }
  return total;
}

}  // namespace tilewright::dsl
