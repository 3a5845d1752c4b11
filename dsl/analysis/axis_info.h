// Facts about the integers and pointers in a tile: along each axis, how far neighbours follow each
// other, how far they are equal, and a divisor of the first.
//
// With these three, a load through a tile of pointers is known to touch consecutive memory
// (contiguity), to need one value for many lanes (constancy), or to be aligned (divisibility). As
// in Triton's AxisInfo analysis.
#pragma once

#include <vector>

#include "dsl/analysis/axis_facts.h"

namespace tilewright::dsl {

// Facts of every value of the function, indexed by Value. Values that are neither integers nor
// pointers have contiguity 1 and divisibility 1.
std::vector<AxisInfo> axis_info(const ir::Function& function);

}  // namespace tilewright::dsl
