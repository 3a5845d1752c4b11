// Control flow in kernels: loops and branches, with the registers that they carry.
#include <algorithm>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;

void Emitter::emit_loop(llvm::Value* low, llvm::Value* step,
                        const std::function<llvm::Value*(llvm::Value*)>& goes_on,
                        std::vector<llvm::Value*>& carried,
                        const std::function<void(llvm::Value*)>& body) {
  auto* before = b_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "header", kernel_);
  auto* inside = llvm::BasicBlock::Create(context_, "body", kernel_);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", kernel_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  auto* i = b_.CreatePHI(low->getType(), 2);
  i->addIncoming(low, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& value : carried) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  b_.CreateCondBr(goes_on(i), inside, exit);
  b_.SetInsertPoint(inside);
  body(i);
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(b_.CreateAdd(i, step), latch);
  for (std::size_t k = 0; k < phis.size(); ++k) {
    phis[k]->addIncoming(carried[k], latch);
    carried[k] = phis[k];
  }
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
}

// make(), or `rest` where the condition does not hold: a branch, which the assembler turns into a
// predicate.
llvm::Value* Emitter::when(llvm::Value* condition, llvm::Value* rest,
                           const std::function<llvm::Value*()>& make) {
  if (condition == nullptr) return make();
  auto* before = b_.GetInsertBlock();
  llvm::Function* fn = before->getParent();
  auto* then = llvm::BasicBlock::Create(context_, "when", fn);
  auto* after = llvm::BasicBlock::Create(context_, "after", fn);
  b_.CreateCondBr(condition, then, after)
      ->setMetadata(divergent_note, llvm::MDNode::get(context_, {}));
  b_.SetInsertPoint(then);
  llvm::Value* made = make();
  auto* end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  if (rest == nullptr) return nullptr;
  auto* phi = b_.CreatePHI(rest->getType(), 2);
  phi->addIncoming(rest, before);
  phi->addIncoming(made, end);
  return phi;
}

void Emitter::loop(const Inst& inst) {
  const ir::Block& body = inst.bodies[0];
  const Inst& yield = body.insts.back();
  // Carried tiles enter in the layout of the loop's results; registers that are one stay one.
  std::vector<llvm::Value*> carried, bases;
  std::vector<llvm::Type*> types;
  std::vector<std::vector<int>> first;
  auto carry = [&](std::size_t k, const std::vector<llvm::Value*>& values) {
    std::vector<llvm::Value*> different;
    for (std::size_t r = 0; r < values.size(); ++r)
      if (static_cast<std::size_t>(first[k][r]) == r) different.push_back(values[r]);
    std::ranges::copy(in_words(different), std::back_inserter(carried));
  };
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    Value init = inst.operands[3 + k];
    if (is_tile(init)) {
      Registers registers = get(init);
      bases.push_back(registers.base);
      first.push_back(layout::first_duplicates(registers.layout));
      types.push_back(registers.values[0]->getType());
      carry(k, registers.values);
    } else {
      bases.push_back(nullptr);
      first.push_back({0});
      types.push_back(scalars_[init]->getType());
      carry(k, {scalars_[init]});
    }
  }
  auto give = [&](const std::vector<Value>& to, std::size_t from) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      std::vector<llvm::Value*> halves, values;
      for (std::size_t r = 0; r < first[k].size(); ++r) {
        auto same = static_cast<std::size_t>(first[k][r]);
        if (same == r && halves.empty()) halves = out_of_word(carried[at++], types[k]);
        values.push_back(same == r ? halves.front() : values[same]);
        if (same == r) halves.erase(halves.begin());
      }
      if (is_tile(inst.results[k]))
        tiles_.insert_or_assign(to[from + k],
                                Registers{function_.layout(inst.results[k]), values, bases[k]});
      else
        scalars_[to[from + k]] = values[0];
    }
  };
  auto pipeline = pipelines_.find(&inst);
  const LoopPipeline* ring = pipeline == pipelines_.end() ? nullptr : &pipeline->second;
  std::int64_t ring_start = ring == nullptr ? 0 : open_ring(inst, *ring);
  if (ring != nullptr) carried.push_back(i32(0));  // the slot
  finish_products();
  DType dtype = function_.type(inst.operands[0]).dtype;
  auto goes_on = [&](llvm::Value* i) {
    llvm::Value* is_below = compare(Op::lt_, dtype, i, scalars_[inst.operands[1]]);
    return ir::ends_by_condition(inst) ? b_.CreateAnd(is_below, carried[0]) : is_below;
  };
  emit_loop(scalars_[inst.operands[0]], scalars_[inst.operands[2]], goes_on, carried,
            [&](llvm::Value* i) {
              scalars_[body.params[0]] = i;
              give(body.params, 1);
              llvm::Value* slot = ring == nullptr ? nullptr : carried.back();
              if (ring != nullptr) begin_turn(inst, *ring, ring_start, i, slot);
              block(body);
              carried.clear();
              for (std::size_t k = 0; k < inst.results.size(); ++k) {
                if (!is_tile(inst.results[k])) {
                  carry(k, {scalars_[yield.operands[k]]});
                  continue;
                }
                Registers registers = get(yield.operands[k]);
                require(
                    registers.base == bases[k], "[codegen] ", describe(inst.where),
                    ": a loop carries a tile of pointers that changes from one array to another");
                carry(k, registers.values);
              }
              finish_products();
              if (ring == nullptr) return;
              auto* wraps = b_.CreateICmpEQ(slot, i32(ring->stages - 1));
              carried.push_back(b_.CreateSelect(wraps, i32(0), b_.CreateAdd(slot, i32(1))));
              open_pipelines_.pop_back();
            });
  give(inst.results, 0);
  if (ring != nullptr) close_ring(inst, *ring);
  if (roles_) close_deferred(inst);
}

void Emitter::branch(const Inst& inst) {
  finish_products();
  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* join = llvm::BasicBlock::Create(context_, "join", fn);
  llvm::BasicBlock* sides[2] = {llvm::BasicBlock::Create(context_, "then", fn),
                                llvm::BasicBlock::Create(context_, "else", fn)};
  b_.CreateCondBr(scalars_[inst.operands[0]], sides[0], sides[1]);
  std::vector<std::vector<llvm::Value*>> given[2];
  std::vector<llvm::Value*> bases[2];
  for (std::size_t side = 0; side < 2; ++side) {
    b_.SetInsertPoint(sides[side]);
    block(inst.bodies[side]);
    const Inst& yield = inst.bodies[side].insts.back();
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      bases[side].push_back(nullptr);
      if (!is_tile(inst.results[k])) {
        given[side].push_back({scalars_[yield.operands[k]]});
        continue;
      }
      Registers registers = get(yield.operands[k]);
      bases[side].back() = registers.base;
      given[side].push_back(std::move(registers.values));
    }
    finish_products();
    sides[side] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    require(bases[0][k] == bases[1][k], "[codegen] ", describe(inst.where),
            ": an if yields tiles of pointers into different arrays");
    std::vector<llvm::Value*> values;
    for (std::size_t r = 0; r < given[0][k].size(); ++r) {
      auto* phi = b_.CreatePHI(given[0][k][r]->getType(), 2);
      for (std::size_t side = 0; side < 2; ++side) phi->addIncoming(given[side][k][r], sides[side]);
      values.push_back(phi);
    }
    Value result = inst.results[k];
    if (is_tile(result))
      tiles_.insert_or_assign(result, Registers{function_.layout(result), values, bases[0][k]});
    else
      scalars_[result] = values[0];
  }
}

}  // namespace tilewright::dsl::gpu
