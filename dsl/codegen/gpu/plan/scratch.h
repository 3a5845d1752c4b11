// How many bytes of shared memory an instruction needs as scratch: threads write there what others
// of their block read. It follows from the layouts of a converted function; where the bytes are is
// decided by the pass allocate_shared.
#pragma once

#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

// 0 for instructions that move no values between warps, and for loops, whose rings are
// plan/pipeline.h's.
std::int64_t scratch_bytes(const ir::Function& function, const Uses& uses, const ir::Inst& inst,
                           const Target& target);

// The most bytes that a block writes for each block of its cluster in one exchange; 0: they
// exchange nothing.
std::int64_t cluster_exchange_bytes(const ir::Function& function);

// For a product without tensor cores: how much of k both operands are in scratch with at a time,
// and where the right one begins there. For each k there is a line of the left one's column and one
// of the right one's row, with room behind, so that lines begin in different banks and at 16 bytes.
struct SharedProduct {
  std::int64_t chunk;
  std::int64_t rows, columns, element_bytes;
  std::int64_t left_stride() const { return stride_of(rows); }  // elements
  std::int64_t right_stride() const { return stride_of(columns); }
  std::int64_t stride_of(std::int64_t elements) const;
  std::int64_t right_offset(std::int64_t count) const;
  std::int64_t bytes(std::int64_t count) const;
};
SharedProduct shared_product(const ir::Function& function, const ir::Inst& dot);

// For a reduction over warps: how many parts of the axis there are, the bytes of all parts, and of
// these with the indices of argmax and argmin behind them.
struct WarpReduction {
  std::int64_t parts, places, index_offset, bytes;
};
WarpReduction warp_reduction(const ir::Function& function, const ir::Inst& reduce);

}  // namespace tilewright::dsl::gpu
