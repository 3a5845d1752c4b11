// Which layout each tile value of a program has on a block of GPU threads.
//
// Layouts stand in a side table, not in types: the program stays as it was traced. Where data moves
// to and from memory the layout is the one that memory likes (neighbouring threads at neighbouring
// elements, 16 bytes each); all other values take the layout that their first consumer wants, so
// that most operands are already where they are needed. Where they are not, the emitter converts.
//
// The rules, from the last instruction to the first:
//   a store, a reduction's operand    blocked: coalesced along the last axis, a reduction's operand
//                                     for the narrowest load that it is made from; what is unpacked
//                                     in registers stays with the thread that loaded it
//   a load                            blocked, but a tile of one axis, of few elements, or a short
//                                     line of which each thread wants 16 bytes, as wanted
//   a matrix product                  the accumulator of its tensor-core instruction; what is
//                                     computed from it element by element stays there
//   elementwise                       operands as the result
//   expand_dims, broadcast, permute   operand such that nothing moves
//   a reduction's result              its operand's layout without the axis
//   what a loop carries               one layout for its start, its turns and its result
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

struct Assignment {
  int warps = 4;                          // of a block, 32 threads each
  std::vector<std::optional<Layout>> of;  // by value; nothing for scalars and descriptors
  const Layout& operator[](ir::Value value) const { return *of[value]; }
};

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

// Of a product without tensor cores: of both operands in shared memory at a time.
constexpr std::int64_t shared_product_bytes = 48 * 1024;

// 1 to 16: so many that the largest tile takes 16 registers a thread, or 32 where fewer warps save
// exchanges between them; with products on tensor cores up to 8, since each warp reads operands for
// all its part of the result.
int choose_warps(const ir::Function& function, const Target& target);

// `in_fragments`: what is computed with a product's result is loaded as its accumulator has it, and
// left operands are wanted as fragments; there is little shared memory to move them through.
Assignment assign_layouts(const ir::Function& function, int warps, const Target& target,
                          bool in_fragments = false);

}  // namespace tilewright::dsl::gpu
