// Words on the bits of integers, which Triton reaches in libdevice by name. Operands are integers
// of any width, pairs of one type, results of that type unless noted otherwise. Raises `Error` with
// the line of the call for other operands. For the thread that traces.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

Tile popc(const Operand& x);  // how many bits are 1, i32
Tile clz(const Operand& x);   // how many are 0 above the highest 1, i32; all of 0
Tile ffs(const Operand& x);   // the place of the lowest 1, from 1 on, i32; 0 of 0
Tile brev(const Operand& x);  // in reverse order
// Four of the eight bytes of y and x, y the upper half, by the lower three bits of each half-byte
// of `selector`; all are u32.
Tile byte_perm(const Operand& x, const Operand& y, const Operand& selector);
// The upper half of the product, with the sign of signed types (umulhi reads them without).
Tile mulhi(const Operand& x, const Operand& y);
Tile mul24(const Operand& x, const Operand& y);  // of the lower 24 bits of integers of 32
Tile sad(const Operand& x, const Operand& y, const Operand& z);  // |x - y| + z
// (x + y) / 2 without an overflow, rounded down, and up.
Tile hadd(const Operand& x, const Operand& y);
Tile rhadd(const Operand& x, const Operand& y);

}  // namespace tilewright::dsl
