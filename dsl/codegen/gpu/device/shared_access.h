// The bytes that an access to shared memory touches, as stated by the emitter where it emits the
// access.
//
// An address is a sum of bits of the thread's number, and its meaning (these bytes of scratch, each
// thread its own; that stage of a ring) is plain where the address is made and hard to find
// afterwards. So every access carries a note, `!tw.touch`, from which barrier_proof.h reasons. The
// emulator holds each access against its note.
#pragma once

#include <llvm/IR/Instruction.h>

#include <cstdint>
#include <optional>

namespace tilewright::dsl::gpu {

struct SharedAccess {
  // Accesses of one group, between two turns of a loop, are those of one step of one tile: either
  // all read, or no byte is touched by two threads.
  int group = 0;
  std::int64_t begin = 0, end = 0;  // bytes; in a ring, those of stage 0
  // A ring that all threads fill (pipeline.h): its number, which is not -1, and its stages.
  int ring = -1;
  int stages = 1;
  std::int64_t ring_begin = 0, stage_bytes = 0;
  bool by_warpgroup = false;  // each warpgroup touches a part of its own
  // Blocks of a cluster write it for each other, in two sets in turn (emit_cluster.cpp): the set
  // being written is not the one that was read last.
  bool by_cluster = false;

  // The bytes of all stages.
  std::int64_t first() const { return ring < 0 ? begin : ring_begin; }
  std::int64_t last() const { return ring < 0 ? end : ring_begin + stages * stage_bytes; }
};

llvm::MDNode* metadata_of(llvm::LLVMContext& context, const SharedAccess& touch);
SharedAccess read_metadata(const llvm::MDNode& note);
constexpr const char* access_metadata = "tw.touch";

// On a branch into code that some threads skip; on the branch at the head of the loop over
// programs.
constexpr const char* divergent_note = "tw.divergent";
constexpr const char* programs_note = "tw.programs";

}  // namespace tilewright::dsl::gpu
