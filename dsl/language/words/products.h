// Matrix products beside those of tile.h: with a result of another type than their sums have.
//
// With three axes (tile.h) there is a product for each place along the first. These stand one
// behind the other in the program, so a stack is meant to be small; its accumulator is added
// afterwards, rounded by itself.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// As `dot` (tile.h), rounded once more, to `out`: f16 of operands that accumulate in f32. The
// accumulator is of that type too. Raises `Error` where `out` is bool, or whole where the operands
// are not.
Tile dot(const Operand& a, const Operand& b, DType out,
         InputPrecision precision = InputPrecision::ieee);
Tile dot(const Operand& a, const Operand& b, const Operand& acc, InputPrecision precision,
         DType out);

}  // namespace tilewright::dsl
