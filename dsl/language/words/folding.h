// Words that combine the elements along an axis, or all of a tile: into one (reductions) or into as
// many as there were (scans). Those with a function of the user's are made of it: it is traced on
// whole tiles, some times over, for pairs of neighbours and pairs of these. So it may be any
// function of tiles that is associative, on any number of tiles at a time, and needs no neutral
// element; neighbours keep their order, so it need not be commutative.
//
//   Tile longest = reduce(x, 0, [](Tile a, Tile b) { return where(abs(a) < abs(b), b, a); });
//   Tiles both = reduce({x, y}, 0, [](const Tiles& a, const Tiles& b) -> Tiles {
//     return {a[0] + b[0], a[1] * b[1]};
//   });
//
// A reduction of n elements takes n - 1 evaluations in about log2(n) steps, a scan n for each of
// about log2(n) steps; between steps elements move (`gather`). The kinds that the operation
// `reduce` knows (sum, max, ...) are faster and are meant where they do.
//
// Triton sums small integers as int32: here sums are of the operand's type, cast it before.
#pragma once

#include <functional>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

using Tiles = std::vector<Tile>;
using Combine = std::function<Tile(const Tile& before, const Tile& after)>;
using CombineTuples = std::function<Tiles(const Tiles& before, const Tiles& after)>;

// Along the axis, which goes away unless `keep_dims`. The tiles of a tuple broadcast together.
Tile reduce(const Operand& x, int axis, const Combine& combine, bool keep_dims = false);
Tiles reduce(const std::vector<Operand>& x, int axis, const CombineTuples& combine,
             bool keep_dims = false);
// Reduces all elements to a scalar.
Tile reduce(const Operand& x, const Combine& combine);
Tile reduce(const Operand& x, ir::ReduceKind kind);
Tile sum(const Operand& x);
Tile max(const Operand& x);
Tile min(const Operand& x);

Tile prod(const Operand& x, int axis, bool keep_dims = false);
Tile xor_sum(const Operand& x, int axis, bool keep_dims = false);  // of integers, bit by bit
Tile reduce_or(const Operand& x, int axis, bool keep_dims = false);
Tile reduce_and(const Operand& x, int axis, bool keep_dims = false);
Tile any(const Operand& x, int axis, bool keep_dims = false);  // of bools
Tile all(const Operand& x, int axis, bool keep_dims = false);

// The place along the axis, i32, of the greatest or least element: of the first of equals, whatever
// Triton's tie_break_left would say. A NaN is both. Without an axis the place in row-major order.
Tile argmax(const Operand& x, int axis, bool keep_dims = false);
Tile argmin(const Operand& x, int axis, bool keep_dims = false);
Tile argmax(const Operand& x);
Tile argmin(const Operand& x);
struct ElementAndIndex {
  Tile value, index;
};
ElementAndIndex max_with_index(const Operand& x, int axis, bool keep_dims = false);
ElementAndIndex min_with_index(const Operand& x, int axis, bool keep_dims = false);

// At each place the combination of the elements up to it, or from it on with `reverse`.
Tile associative_scan(const Operand& x, int axis, const Combine& combine, bool reverse = false);
Tiles associative_scan(const std::vector<Operand>& x, int axis, const CombineTuples& combine,
                       bool reverse = false);
Tile cumsum(const Operand& x, int axis = 0, bool reverse = false);
Tile cumprod(const Operand& x, int axis = 0, bool reverse = false);

}  // namespace tilewright::dsl
