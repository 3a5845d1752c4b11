// The rings of stages of a kernel with roles (warp_specialisation.h): the turns at their barriers,
// and when the consumers release a stage.
#include <algorithm>

#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Value;

bool Emitter::is_in_ring(Value value) const {
  if (!roles_) return false;
  for (const Fetch& fetch : roles_->fetches)
    for (const StagedLoad& load : fetch.loads)
      if (load.operand == value || load.load->results[0] == value) return true;
  return false;
}

void Emitter::await_barrier(llvm::Value* barrier, llvm::Value* parity) {
  auto* again = llvm::BasicBlock::Create(context_, "await", kernel_);
  auto* after = llvm::BasicBlock::Create(context_, "arrived", kernel_);
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  b_.CreateCondBr(device("mbarrier_try_wait_parity", {barrier, parity}), after, again);
  b_.SetInsertPoint(after);
}

llvm::Value* Emitter::take_turn(std::size_t ring, bool empty) {
  const Turns& turns = turns_[ring];
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), turns.slot);
  llvm::Value* parity = b_.CreateLoad(b_.getInt32Ty(), turns.parity);
  int stages = roles_->rings[ring].stages;
  std::int64_t barriers = roles_->rings[ring].barriers + (empty ? 8 * stages : 0);
  await_barrier(shared_pointer(b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(barriers))), parity);
  auto* wraps = b_.CreateICmpEQ(slot, i32(stages - 1));
  b_.CreateStore(b_.CreateSelect(wraps, i32(0), b_.CreateAdd(slot, i32(1))), turns.slot);
  b_.CreateStore(b_.CreateXor(parity, b_.CreateZExt(wraps, b_.getInt32Ty())), turns.parity);
  return slot;
}

llvm::Value* Emitter::stage_of(const Ring& ring, llvm::Value* slot) {
  return b_.CreateAdd(b_.CreateMul(slot, i32(ring.stage_bytes)), i32(ring.start));
}

// Each warp speaks for its lanes: one of them to the producer, or to that of each block of the
// cluster.
void Emitter::release(const Ring& ring, llvm::Value* slot, bool may_be_none) {
  int producers = ring.is_shared ? roles_->cluster : 1;
  llvm::Value* speaks = b_.CreateICmpULT(lane_, i32(producers));
  if (may_be_none) speaks = b_.CreateAnd(speaks, b_.CreateICmpSGE(slot, i32(0)));
  auto* empty = b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(ring.barriers + 8 * ring.stages));
  when(speaks, nullptr, [&] {
    if (producers == 1) return device("mbarrier_arrive", {shared_pointer(empty)});
    return device("mbarrier_arrive_cluster", {device("mapa", {shared_pointer(empty), lane_})});
  });
}

// After a loop with a deferred product: its last turn's is awaited.
void Emitter::close_deferred(const Inst& loop) {
  const Inst& yield = loop.bodies[0].insts.back();
  for (std::size_t i = 0; i < roles_->fetches.size(); ++i) {
    const Fetch& fetch = roles_->fetches[i];
    if (!fetch.deferred) continue;
    auto sum = std::ranges::find(yield.operands, fetch.at->results[0]);
    if (sum == yield.operands.end()) continue;  // another loop's
    const Value result = loop.results[static_cast<std::size_t>(sum - yield.operands.begin())];
    set(result, finished(get(result), 0));
    release(roles_->rings[fetch.ring], b_.CreateLoad(b_.getInt32Ty(), deferred_[i]), true);
    b_.CreateStore(i32(-1), deferred_[i]);
  }
}

// A loop-invariant left operand, from where it is loaded until the end of the block of code.
void Emitter::open_invariant_operand(const Fetch& fetch) {
  llvm::Value* slot = take_turn(fetch.ring, false);
  invariant_operands_.push_back({&fetch, slot});
}

void Emitter::close_invariant_operands(const ir::Block& block) {
  if (!roles_ || invariant_operands_.empty()) return;
  finish_products();
  while (!invariant_operands_.empty() && is_in(block, invariant_operands_.back().fetch->at)) {
    release(roles_->rings[invariant_operands_.back().fetch->ring], invariant_operands_.back().slot);
    invariant_operands_.pop_back();
  }
}

void Emitter::finish_product(Value result) {
  auto found = std::ranges::find(unfinished_, result, &Unfinished::result);
  if (found == unfinished_.end()) return;
  Unfinished product = *found;
  auto after = unfinished_.erase(found);
  auto later = std::count_if(after, unfinished_.end(), [](const auto& u) { return !u.complete; });
  std::for_each(unfinished_.begin(), after, [](Unfinished& u) { u.complete = true; });
  leave_alternation();
  set(result, finished(tiles_.at(result), static_cast<int>(later)));
  release(roles_->rings[product.fetch->ring], product.slot);
}

void Emitter::finish_products() {
  while (!unfinished_.empty()) finish_product(unfinished_.front().result);
}

}  // namespace tilewright::dsl::gpu
