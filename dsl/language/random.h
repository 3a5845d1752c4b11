// Random numbers that a kernel computes: Philox 4x32 (Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011), which makes four words of a counter of four and a key
// of two, with nothing to remember between calls. The numbers are those of Triton's functions of
// these names, so that a kernel that comes from there drops the same elements out.
//
// `seed` is an integer scalar or tile, the key; `offset` a tile of integers, one for each element,
// the counter. Calls with different seeds or offsets are independent; one offset must not be used
// twice with one seed. The functions that end in 4x give all four streams of a call, the others the
// first.
#pragma once

#include <array>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

using FourTiles = std::array<Tile, 4>;

// Words of 32 bits (u32) of a counter and a seed. Ten rounds pass all known tests, seven all of
// BigCrush.
FourTiles philox(const Operand& seed, const Operand& c0, const Operand& c1, const Operand& c2,
                 const Operand& c3, int rounds = 10);

// Whole numbers, u32 (as Triton's, whose type is the offset's without a sign).
FourTiles randint4x(const Operand& seed, const Operand& offset, int rounds = 10);
Tile randint(const Operand& seed, const Operand& offset, int rounds = 10);
// f32, uniform from 0 on and below 1.
FourTiles rand4x(const Operand& seed, const Operand& offset, int rounds = 10);
Tile rand(const Operand& seed, const Operand& offset, int rounds = 10);
// f32 of the normal distribution, by Box and Muller's formula of two uniform ones.
FourTiles randn4x(const Operand& seed, const Operand& offset, int rounds = 10);
Tile randn(const Operand& seed, const Operand& offset, int rounds = 10);

// The building blocks of these: u32 or i32 to f32 from 0 on and below 1; two such to two normal
// ones.
Tile uint_to_uniform_float(const Operand& bits);
std::pair<Tile, Tile> pair_uniform_to_normal(const Operand& first, const Operand& second);

}  // namespace tilewright::dsl
