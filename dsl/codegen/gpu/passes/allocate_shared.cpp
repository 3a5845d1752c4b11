// Gives what is in shared memory its place: the ring of each loop that has stages, and the scratch
// that instructions exchange values through. A ring is in use from before the first turn of its
// loop until after the last, scratch for one instruction, between two barriers; so places are a
// stack. Reserved parts lie at the bottom (those that warps with roles fetch and store, or that the
// programs of a cluster exchange), a ring on top of the parts in use around it, scratch on top of
// all rings around it. Parts that are never in use at the same time share bytes.
#include <algorithm>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/pipeline.h"
#include "dsl/codegen/gpu/plan/scratch.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;

// Swizzles repeat after so many bytes, and wgmma takes them to begin at a multiple.
constexpr std::int64_t ring_alignment = 1024;

class Allocator {
 public:
  Allocator(ir::Function& function, const Target& target)
      : function_(function),
        target_(target),
        uses_(function),
        facts_(scalar_facts(function)),
        pipelines_(pipelines_of(function, uses_, facts_, target)) {}

  bool run() {
    function_.shared.reserved = reserved();
    function_.shared.bytes = function_.shared.reserved;
    block(function_.body, function_.shared.reserved);
    function_.stage = ir::Stage::allocated;
    return function_.shared.bytes > 0;
  }

 private:
  std::int64_t reserved() const {
    if (auto roles = warp_roles_of(function_, uses_, facts_, target_)) return roles->shared_bytes;
    return 2 * function_.cluster * cluster_exchange_bytes(function_);
  }

  // `top`: where what is in use around the block ends.
  void block(ir::Block& block, std::int64_t top) {
    for (Inst& inst : block.insts) {
      std::int64_t inner = top;
      if (auto ring = pipelines_.find(&inst); ring != pipelines_.end()) {
        std::int64_t begin = (top + ring_alignment - 1) / ring_alignment * ring_alignment;
        inner = take(inst, begin, ring->second.bytes());
      } else if (std::int64_t bytes = scratch_bytes(function_, uses_, inst, target_)) {
        take(inst, top, bytes);
      }
      for (ir::Block& body : inst.bodies) this->block(body, inner);
    }
  }

  // Gives the end of what an instruction takes.
  std::int64_t take(Inst& inst, std::int64_t begin, std::int64_t bytes) {
    inst.schedule.shared_offset = static_cast<std::int32_t>(begin);
    inst.schedule.shared_bytes = static_cast<std::int32_t>(bytes);
    function_.shared.bytes = std::max(function_.shared.bytes, begin + bytes);
    return begin + bytes;
  }

  ir::Function& function_;
  const Target& target_;
  const Uses uses_;
  const std::vector<ScalarFacts> facts_;
  const LoopPipelines pipelines_;
};

}  // namespace

bool allocate_shared(ir::Function& function, const Target& target) {
  return Allocator(function, target).run();
}

}  // namespace tilewright::dsl::gpu
