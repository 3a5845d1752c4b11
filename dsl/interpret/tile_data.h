// The elements of one value while a program is interpreted, and shape operations, reductions and
// matrix products on them. Memory and control are the interpreter's (interpret.cpp).
//
// Elements lie in row-major order in columns as elements.h describes them. A pointer is its address
// in the integer column; `param` says which parameter of the kernel it came from, so that a wild
// access can be named.
#pragma once

#include <memory>
#include <vector>

#include "dsl/ir/elements.h"
#include "dsl/ir/function.h"

namespace tilewright::ir {

struct TileData {
  std::vector<double> floating;
  std::vector<std::int64_t> integer;
  int param = -1;  // -1: no pointer, or one of several parameters

  TileData() = default;
  explicit TileData(const Type& type);
  static bool is_float_column(const Type& type) {
    return type.is_value() && is_floating(type.dtype);
  }
  Column column() const {
    Column c;
    if (floating.empty())
      c.integer = integer.data();
    else
      c.floating = floating.data();
    return c;
  }
  MutableColumn mutable_column() {
    MutableColumn c;
    if (floating.empty())
      c.integer = integer.data();
    else
      c.floating = floating.data();
    return c;
  }
};
// Values are shared, never changed once made: a carried tile is not copied.
using TileDataPtr = std::shared_ptr<const TileData>;

TileDataPtr splat_data(const TileData& scalar, const Type& result);
TileDataPtr broadcast_data(const TileData& x, const Shape& from, const Type& result);
TileDataPtr permute_data(const TileData& x, const Shape& from, const std::vector<int>& dims,
                         const Type& result);
// The element of `x` at the index along the axis, which is taken to the nearest there is.
TileDataPtr gather_data(const TileData& x, const TileData& index, const Shape& from, int axis,
                        const Type& result);
// Sums and products of f32, f16 and bf16 accumulate in double and are rounded once. The index of a
// maximum or minimum is that of the first of equals; a NaN beats every number.
TileDataPtr reduce_data(const TileData& x, const Type& type, const Reduction& reduction,
                        const Type& result);
// acc + a b, accumulated in double (integers: in 64 bits) and rounded once; with tf32 from rounded
// operands, with tf32x3 as with ieee.
TileDataPtr dot_data(const TileData& a, const TileData& b, const TileData& acc, const Type& a_type,
                     const Type& result, InputPrecision precision);

}  // namespace tilewright::ir
