// A copy of a program that also stores values which it computes, so that compiled code shows them.
//
// Behind the program's own parameters come two for each observed value: an array of i64, one a
// program of the grid, that is zero at the launch and counts how often the program has computed the
// value; and an array that gets the elements of each time, [program, time, element]. Times beyond
// `times`, and programs from `programs` on, are counted but not stored.
//
// Storing is work that the program did not have: passes fuse, hoist and fetch ahead around it as
// they would in no other program, so that a mistake of theirs may show elsewhere, or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

struct ObservedValue {
  std::size_t instruction;  // that gives it, in the order of for_each_inst
  std::size_t result;       // of that instruction
  ir::Type type;            // a number or a tile of them
  std::int64_t programs, times;
  std::int64_t elements() const { return element_count(type.shape); }
};

// Before: a traced program. After: a traced program that verifies, and computes the same.
ir::Function observed_program(const ir::Function& function, std::span<const ObservedValue> values);

}  // namespace tilewright::dsl
