// What is known of the integers and pointers in a tile: along each axis, how far neighbours follow
// each other, how far they are equal, and by what the first is divisible.
//
// With these three, a load through a tile of pointers is known to touch consecutive memory
// (contiguity), to need one value for many lanes (constancy), or to be aligned (divisibility). As
// in Triton's AxisInfo analysis.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// An axis falls into groups of `contiguity` neighbours, counted from its start (the last may be
// cut off by the end of the axis); likewise for `constancy`. Sizes need not be powers of two. Index
// arithmetic is assumed not to wrap around; pointer parameters are assumed to be aligned to 64
// bytes, as buffers are.
struct AxisInfo {
  // Per axis: groups of this many neighbours count up by one; groups that are equal; the largest
  // power of two (at most 2^30) that divides the first element of each contiguous group (for a
  // pointer in elements of what it points to). A scalar has one entry, as if it had an axis.
  Shape contiguity, constancy, divisibility;
  std::optional<std::int64_t> constant;  // all elements are this integer
  bool operator==(const AxisInfo&) const = default;
};

// Facts of every value of the function, indexed by Value. Values that are neither integers nor
// pointers have contiguity 1 and divisibility 1.
std::vector<AxisInfo> axis_info(const ir::Function& function);

}  // namespace tilewright::dsl
