// Which values differ between programs whose places in the grid differ along one axis only.
//
// Values that do not differ are common to these programs: they go round a loop equally often, fetch
// the same block of memory. Neighbours along an axis on which an operand does not depend can share
// it.
#pragma once

#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// By value: whether it may depend on program_id along `axis`. Memory that a program reads counts
// like its address: equal addresses, equal values.
std::vector<bool> depends_on_program(const ir::Function& function, int axis);

}  // namespace tilewright::dsl
