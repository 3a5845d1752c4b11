// The choices for laying out a program on a block of GPU threads: the layout that memory likes,
// those of tensor cores' operands and results, and how many warps share the work. The choice itself
// is the pass assign_layouts.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/layout/layout.h"
#include "dsl/target/number_formats.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

using layout::Layout;
using layout::physical_shape;

// Coalesced: 16 bytes a thread along the last axis where there are elements enough.
Layout natural_layout(const Shape& shape, int element_bytes, int warps);

// How a product goes to the tensor cores: the warps along rows and columns, and the layouts of the
// operands' fragments and of the accumulator.
struct TensorCoreDot {
  int warps_m, warps_n;
  int k;                    // of one instruction
  emulator::Format format;  // of the operands
  bool warpgroups;          // each four warps own 64 rows: wgmma serves too, from shared memory
  Layout a, b, result;
};
// Nothing where no instruction serves and the product is made of fused multiply-adds: other types
// than f16, bf16, i8, floats of 8 bits and f32 of tf32 precision, or fewer than 16 rows, 8 columns
// or an instruction's k.
std::optional<TensorCoreDot> tensor_core_dot(const ir::Function& function, const ir::Inst& dot,
                                             int warps, const Target& target);

// The result of a product without tensor cores: each thread has blocks of 4 x 4, of which there are
// several where the tile is large, so that it multiplies each element that it reads several times
// and reads 4 at once; a warp reads few different ones. Nothing where the tile has fewer than 16
// elements a thread.
std::optional<Layout> multiply_add_layout(const Shape& result, int warps);

// For a product without tensor cores: of both operands in shared memory at a time.
constexpr std::int64_t shared_product_bytes = 48 * 1024;

// 1 to 16: so many that the largest tile takes 16 registers a thread, or 32 where fewer warps save
// exchanges between them; with products on tensor cores up to 8, since each warp reads operands for
// all its part of the result.
int choose_warps(const ir::Function& function, const Target& target);

}  // namespace tilewright::dsl::gpu
