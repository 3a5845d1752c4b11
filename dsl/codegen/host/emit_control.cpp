// Control flow in programs of the host: loops of the program and of lanes, and branches, with the
// values that they carry.
#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

void Emitter::emit_loop(llvm::Value* count, std::int64_t step, std::vector<llvm::Value*>& carried,
                        const std::function<void(llvm::Value*)>& body) {
  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* before = b_.GetInsertBlock();
  auto* block = llvm::BasicBlock::Create(context_, "loop", fn);
  b_.CreateBr(block);
  b_.SetInsertPoint(block);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(index(0), before);
  std::vector<llvm::PHINode*> phis;
  for (auto*& value : carried) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  body(i);
  auto* next = b_.CreateNUWAdd(i, index(step));
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(next, latch);
  for (std::size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(carried[k], latch);
  auto* exit = llvm::BasicBlock::Create(context_, "after", fn);
  b_.CreateCondBr(b_.CreateICmpSLT(next, count), block, exit);
  b_.SetInsertPoint(exit);
}

void Emitter::emit_if(llvm::Value* condition, const std::function<void()>& body) {
  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* then = llvm::BasicBlock::Create(context_, "then", fn);
  auto* after = llvm::BasicBlock::Create(context_, "after", fn);
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void Emitter::loop(const Step& s) {
  const Inst& inst = *s.inst;
  const ir::Block& body = inst.bodies[0];
  const Inst& yield = body.insts.back();
  std::size_t carried = inst.results.size();
  std::vector<llvm::Value*> start(carried);
  for (std::size_t k = 0; k < carried; ++k) {
    Value init = inst.operands[3 + k];
    if (!defs_.is_tile(init)) {
      start[k] = scalars_[init];
      continue;
    }
    Slot slot = allocate(inst.results[k]);
    materialise_into(init, slot);
    slots_.insert_or_assign(body.params[1 + k], slot);
    yielded_for_[body.params[1 + k]] = yield.operands[k];
  }
  std::int64_t scratch_body = scratch_used_;
  const std::vector<Value> packed = pack_shared_lefts(s);

  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* header = llvm::BasicBlock::Create(context_, "header", fn);
  auto* block = llvm::BasicBlock::Create(context_, "body", fn);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", fn);
  auto* before = b_.GetInsertBlock();
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::Value* low = scalars_[inst.operands[0]];
  auto* i = b_.CreatePHI(low->getType(), 2);
  i->addIncoming(low, before);
  std::vector<llvm::PHINode*> phis(carried, nullptr);
  for (std::size_t k = 0; k < carried; ++k)
    if (start[k] != nullptr) {
      phis[k] = b_.CreatePHI(start[k]->getType(), 2);
      phis[k]->addIncoming(start[k], before);
      scalars_[body.params[1 + k]] = phis[k];
      scalars_[inst.results[k]] = phis[k];
    }
  DType dtype = function_.type(inst.operands[0]).dtype;
  llvm::Value* goes_on = compare(Op::lt_, dtype, i, scalars_[inst.operands[1]]);
  if (ir::ends_by_condition(inst)) goes_on = b_.CreateAnd(goes_on, phis[0]);
  b_.CreateCondBr(goes_on, block, exit);
  b_.SetInsertPoint(block);
  scalars_[body.params[0]] = i;
  step_of_[body.params[0]] = scalars_[inst.operands[2]];
  steps(s.bodies[0]);
  step_of_.erase(body.params[0]);

  // All new values first, then all copies: a yielded value may read what another replaces.
  std::vector<std::optional<Slot>> fresh(carried);
  for (std::size_t k = 0; k < carried; ++k) {
    Value value = yield.operands[k];
    if (start[k] != nullptr || value == body.params[1 + k]) continue;
    if (auto it = slots_.find(value); it != slots_.end()) {
      if (it->second.data != slots_.at(inst.results[k]).data) fresh[k] = it->second;
      continue;
    }
    fresh[k] = allocate(function_.type(value));
    materialise_into(value, *fresh[k]);
  }
  for (std::size_t k = 0; k < carried; ++k)
    if (fresh[k]) {
      const Slot& to = slots_.at(inst.results[k]);
      std::int64_t bytes =
          element_count(to.type.shape) * (to.type.is_pointer() ? 8 : size_bytes(to.type.dtype));
      b_.CreateMemCpy(to.data, llvm::Align(64), fresh[k]->data, llvm::Align(64),
                      static_cast<std::uint64_t>(bytes));
    }
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(b_.CreateAdd(i, scalars_[inst.operands[2]]), latch);
  for (std::size_t k = 0; k < carried; ++k)
    if (phis[k] != nullptr) phis[k]->addIncoming(scalars_[yield.operands[k]], latch);
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  for (Value left : packed) tiled_lefts_.erase(left);
  scratch_used_ = scratch_body;  // what the body materialised is gone
}

void Emitter::branch(const Step& s) {
  const Inst& inst = *s.inst;
  for (Value result : inst.results)
    if (defs_.is_tile(result)) allocate(result);
  std::int64_t scratch_body = scratch_used_;
  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* then = llvm::BasicBlock::Create(context_, "then", fn);
  auto* otherwise = llvm::BasicBlock::Create(context_, "else", fn);
  auto* join = llvm::BasicBlock::Create(context_, "join", fn);
  b_.CreateCondBr(scalars_[inst.operands[0]], then, otherwise);
  std::vector<std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>>> given(inst.results.size());
  for (std::size_t side = 0; side < 2; ++side) {
    b_.SetInsertPoint(side == 0 ? then : otherwise);
    steps(s.bodies[side]);
    const Inst& yield = inst.bodies[side].insts.back();
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      if (defs_.is_tile(inst.results[k]))
        materialise_into(yield.operands[k], slots_.at(inst.results[k]));
      else
        given[k].emplace_back(scalars_[yield.operands[k]], nullptr);
    }
    for (auto& list : given)
      if (!list.empty() && list.back().second == nullptr) list.back().second = b_.GetInsertBlock();
    b_.CreateBr(join);
    scratch_used_ = scratch_body;
  }
  b_.SetInsertPoint(join);
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    if (given[k].empty()) continue;
    auto* phi = b_.CreatePHI(given[k][0].first->getType(), 2);
    for (auto& [value, block] : given[k]) phi->addIncoming(value, block);
    scalars_[inst.results[k]] = phi;
  }
}

}  // namespace tilewright::dsl
