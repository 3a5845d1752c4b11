// Values of an exported program that follow from inputs which the application holds constant: they
// are computed once, when the program is loaded.
#pragma once

#include <string_view>

#include "models/exported/program/program.h"

namespace tilewright::exported {

// True if results of the operator are computed when all that it reads is constant: comparisons,
// arithmetic, casts and views, which have no effects.
bool is_decidable(std::string_view target);

// Branches (higher_order.cond) with this value as their condition get the flag in its place.
void decide_branches(Program& program, ValueId condition, bool flag);

}  // namespace tilewright::exported
