// The families of layouts: loaded tiles, and the operands and results of tensor cores.
//
// Which family and which sizes a tile gets is decided elsewhere; a family only writes the bases
// down. They stand together because they obey one convention: what an instruction or a vector fixes
// comes first, then repetition in registers, the last axis first; in the fragments each warp owns
// one contiguous part of the tile. Where threads are left over, their bits replicate. All numbers
// are powers of two.
#pragma once

#include "dsl/layout/layout.h"

namespace tilewright::dsl::layout {

// Row-major and coalesced: a thread holds `contiguous` elements side by side along the last axis
// (or as many as that has); then lanes, then warps go on along the last axis until it is full and
// further along those before it; the rest goes to further registers in the same order.
Layout blocked(const Shape& physical, int contiguous, int warps, int lanes = 32);
// The same along the axes in this order, the fastest first.
Layout blocked(const Shape& physical, int contiguous, int warps, int lanes,
               const std::vector<int>& order);

// mma.sync.m16n8k*: the fragments of the PTX ISA, "Warp-level matrix fragments". Warp m * warps_n +
// n has the m-th part of the rows and the n-th of the columns of the result; an operand is
// replicated over the warps that share it. Operands have `bits` = 8, 16 or 32 bits an element, and
// the instruction goes over k = 256 / bits.
//
// Registers here count elements; on the machine neighbours of narrow types share one. The lowest
// are those of one instruction in the order of the ISA (c0 to c3; with 16 bits a0 to a7 and b0 to
// b3), then come the next instruction's, along the last axis first.
Layout mma_result(const Shape& physical, int warps_m, int warps_n);  // MxN, at least 16x8
Layout mma_operand_a(const Shape& physical, int warps_m, int warps_n, int bits);  // MxK, 16xk
Layout mma_operand_b(const Shape& physical, int warps_m, int warps_n, int bits);  // KxN, kx8

// wgmma.mma_async.m64n*k*: the four warps of a warpgroup own 16 rows each of its 64, the warpgroups
// contiguous parts of the rows; in each, registers go on as above. Columns are a power of two here;
// a narrower instruction's are padded.
Layout wgmma_result(int m, int n, int warpgroups);
Layout wgmma_operand_a(int m, int k, int warpgroups, int bits);  // from registers

}  // namespace tilewright::dsl::layout
