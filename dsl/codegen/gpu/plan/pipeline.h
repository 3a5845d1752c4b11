// Software pipelining: which loads of which loops are fetched turns ahead into shared memory.
//
// In a loop over blocks of a matrix product, each iteration needs its loads at once: without more,
// the tensor cores wait for memory every time. So the blocks of the next turns are on their way
// while this one is multiplied: asynchronous copies fill a ring of stages in shared memory, and
// each turn waits for its own stage only. One barrier a turn serves two ends: all threads' copies
// into the stage have arrived, and all threads are done with the stage that is filled next.
//
//   fill stages 0 .. S-2
//   turn i:  wait until stage i has arrived; barrier; fill stage i + S-1; multiply stage i
//
// A load takes part if its block goes to a tensor-core product only, as it is or with its axes
// exchanged; if 16 bytes of it are neighbours in memory; if its place follows from the loop's index
// alone; and if nothing in the program writes the memory that it reads. Which loads do, through how
// many stages, and which product may be late, is decided by the pass pipeline_loads and stands in
// the function.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/ir/function.h"
#include "dsl/layout/shared.h"

namespace tilewright::dsl::gpu {

struct StagedLoad {
  const ir::Inst* load;
  ir::Value operand;  // of the product: the load's result, or it with axes exchanged
  bool transposed;
  layout::SharedLayout shared;  // of the block as it is loaded
  std::int64_t offset;          // in its stage, in bytes
};

struct LoopPipeline {
  int stages = 0;
  std::int64_t stage_bytes = 0;
  bool warpgroups = false;  // products by wgmma, which reads the ring itself
  std::vector<StagedLoad> loads;
  // of the body, in order: the inputs of the loads' offsets
  std::vector<const ir::Inst*> addresses;
  // A product that only adds to a carried value of the loop may be unfinished for one iteration:
  // the next is issued before it is waited for. Its stage is then filled a turn later.
  const ir::Inst* deferred = nullptr;
  int distance() const { return stages - (deferred == nullptr ? 1 : 2); }  // turns ahead
  std::int64_t bytes() const { return stages * stage_bytes; }
};

using LoopPipelines = std::unordered_map<const ir::Inst*, LoopPipeline>;  // by loop

// Good pipelines for a function without decisions; each ring takes at most half of the shared
// memory.
LoopPipelines plan_pipelines(const ir::Function& function, const Uses& uses,
                             const std::vector<ScalarFacts>& facts, const Target& target);
// Those that a function says it has (ir::Schedule). Raises `Error` where one is not possible.
LoopPipelines pipelines_of(const ir::Function& function, const Uses& uses,
                           const std::vector<ScalarFacts>& facts, const Target& target);

// How many elements of a block of a descriptor load or store (whose offsets begin at an operand)
// are neighbours in memory, aligned, and inside or outside together: a power of two, at most 16
// bytes.
int access_width(const std::vector<ScalarFacts>& facts, const ir::Inst& access,
                 const ir::Inst& make_desc, std::size_t first_offset, const ir::Type& block);

}  // namespace tilewright::dsl::gpu
