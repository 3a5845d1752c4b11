// Mixing the instructions of several copies of a loop body.
//
// A body is one long chain: an exponential alone is some twenty dependent steps of four cycles. A
// core overlaps chains only as far as the window of instructions waiting for their operands
// reaches, which is about a hundred, so that copies standing one after the other run almost in
// turn. Standing side by side, one step of each after the other, they fill each other's gaps.
#pragma once

#include <llvm/IR/BasicBlock.h>

#include <vector>

namespace tilewright::dsl {

// Remembers where each copy begins, while they are being emitted at the end of one block.
class Interleave {
 public:
  explicit Interleave(llvm::BasicBlock* block) : block_(block) {}
  // Instructions that are appended from now on belong to the next copy.
  void begin_copy();
  // Reorders the instructions appended since the first copy began: a step of each copy in turn, in
  // groups of `width` copies. The order within a copy and the order of writes to memory are
  // preserved. Prefetches stay after the write that they follow, since memory works best when reads
  // and writes alternate. Copies must not read what others write. Does nothing if emission has left
  // the block.
  void mix(const llvm::BasicBlock* now, std::size_t width);

 private:
  llvm::BasicBlock* block_;
  std::vector<llvm::Instruction*> last_before_;  // of each copy; null: the block was empty
};

}  // namespace tilewright::dsl
