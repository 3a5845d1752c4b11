// Finds the values of a program that depend on a number below 16 and, beside it, only on values
// that may be the same in all lanes of a vector: host code can look these up in a table of one
// register (emit_lookup.cpp). The pass tabulate says which of them it does.
//
//   %6 = and %4, %5 : u8[64]        a number, if %5 is 15
//   %7 = cast %6 : f32[64]          one step from it
//   %8 = sub %7, %2 : f32[64]       two: a table of 16 numbers less %2
#pragma once

#include <optional>
#include <unordered_map>

#include "dsl/codegen/host/plan/definitions.h"

namespace tilewright::dsl {

constexpr std::int64_t table_size = 16;  // lanes of a register of 512 bits

// The number that something depends on, and by how many operations one after the other. Null: it
// depends on none, on two, or by too many operations.
struct SmallNumber {
  const ir::Inst* inst = nullptr;
  int steps = 0;
};

class SmallNumbers {
 public:
  // For a scheduled function. A value kept in memory no longer counts as the operations that made
  // it.
  explicit SmallNumbers(const Definitions& definitions) : defs_(definitions) {}

  SmallNumber of(const ir::Inst& inst);
  SmallNumber of(ir::Value value);
  // The mask of an instruction that is such a number: x & mask, of at most 15. Nothing if it is
  // not.
  std::optional<std::int64_t> mask(const ir::Inst& inst) const;

 private:
  const Definitions& defs_;
  std::unordered_map<ir::Value, SmallNumber> found_;
};

}  // namespace tilewright::dsl
