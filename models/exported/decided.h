// Values of an exported program that follow from inputs which the application holds constant: they
// are computed once, when the program is loaded.
#pragma once

#include <string_view>
#include <vector>

#include "models/exported/program/program.h"

namespace tilewright::exported {

// True if results of the operator are computed when all that it reads is constant: comparisons,
// arithmetic, casts and views, which have no effects.
bool is_decidable(std::string_view target);

// The values that only conditions of branches (higher_order.cond) read, by ValueId.
std::vector<bool> conditions_of(const Program& program);

}  // namespace tilewright::exported
