// Words that put elements elsewhere: joined, taken apart, turned round, chosen by an index. Words
// that keep the order are a reshape or a broadcast; the others are a `gather`, which looks up each
// element of its result, so that none of these words needs an operation of its own.
//
// On the host a gather reads a tile that lies in the cache, a vector of elements at a time; on a
// GPU the tile goes through the shared memory of the block.
#pragma once

#include <utility>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// result[i, j] = source[index[i, j], j], for axis 0 of two. The index is i32 or i64 and has the
// source's axes, of any size along `axis`; along the others it broadcasts to the source. An index
// below 0 means the first element, one beyond the end the last (Triton: undefined).
Tile gather(const Operand& source, const Operand& index, int axis);

// The elements along the axis in reverse order; the default is the last axis.
Tile flip(const Operand& x, int axis = -1);
// A last axis of two: result[..., 0] is a, result[..., 1] is b. They broadcast together.
Tile join(const Operand& a, const Operand& b);
// x[..., 0] and x[..., 1] of a last axis of two.
std::pair<Tile, Tile> split(const Operand& x);
// a, b, a, b, ... along the last axis, which is twice as long.
Tile interleave(const Operand& a, const Operand& b);
// b behind a along the axis, in order: there is no can_reorder. Triton takes one axis alone.
Tile cat(const Operand& a, const Operand& b, int axis = 0);

Tile ravel(const Operand& x);                     // one axis
Tile view(const Operand& x, const Shape& shape);  // a reshape: nothing is put in another order
Tile squeeze(const Operand& x, int axis);         // without that axis, of one element
Tile unsqueeze(const Operand& x, int axis);       // expand_dims
std::pair<Tile, Tile> broadcast(const Operand& a, const Operand& b);
Tile zeros_like(const Operand& x);

// The tile with the axes that stand in brackets behind it (Slice, tile.h): x[{whole, None}].
Tile sliced(const Operand& x, const Slices& slices);

// For the tile (i, j) in a grid of size_i rows by size_j columns, numbered row by row: its place
// when groups of size_g rows are gone through column by column, so that neighbours in time are
// neighbours in a cache.
std::pair<Tile, Tile> swizzle2d(const Operand& i, const Operand& j, const Operand& size_i,
                                const Operand& size_j, const Operand& size_g);

}  // namespace tilewright::dsl
