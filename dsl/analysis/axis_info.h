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

struct AxisInfo {
  // Per axis: runs of this many neighbours that count up by one; runs that are equal; the largest
  // power of two that divides the first element of each contiguous run (in elements for a pointer).
  Shape contiguity, constancy, divisibility;
  std::optional<std::int64_t> constant;  // all elements are this
};

// Facts of every value of the function, indexed by Value. Values of other kinds than integers and
// pointers have contiguity 1, constancy 1 (or the whole axis for a splat), divisibility 1.
std::vector<AxisInfo> axis_info(const ir::Function& function);

}  // namespace tilewright::dsl
