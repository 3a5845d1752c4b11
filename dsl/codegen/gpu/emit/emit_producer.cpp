// The producer's way through a kernel with roles (warp_specialisation.h): which instructions it
// runs, and the copies that fill the stages of rings.
#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;

// True if the producer runs an instruction: for its result, or for something in it.
bool Emitter::is_produced(const Inst& inst) const {
  for (Value result : inst.results)
    if (roles_->produced[result]) return true;
  for (const ir::Block& body : inst.bodies)
    for (const Inst& inner : body.insts)
      if (is_produced(inner)) return true;
  return roles_->fetch_at(&inst) != nullptr;
}

// The operands of a product are computed where the product stands.
void Emitter::produce(const ir::Block& block) {
  for (const Inst& inst : block.insts) {
    if (!is_produced(inst)) continue;
    if (auto place = lines_->at(inst.where)) b_.SetCurrentDebugLocation(place);
    if (const Fetch* fetch = roles_->fetch_at(&inst)) {
      fill(*fetch);
      continue;
    }
    if (inst.op == Op::loop_)
      produce_loop(inst);
    else if (inst.op == Op::if_)
      produce_branch(inst);
    else if (inst.op == Op::load_)
      produce_load(inst);
    else
      scalar(inst);
  }
}

void Emitter::produce_load(const Inst& inst) {
  require(inst.schedule.barrier == ir::Barrier::none, "[load] ", describe(inst.where),
          ": has a barrier, where the thread that fetches blocks does not come; an array that the "
          "program does not write needs none");
  load(inst);
}

void Emitter::produce_loop(const Inst& inst) {
  const ir::Block& body = inst.bodies[0];
  std::vector<std::size_t> numbers;
  std::vector<llvm::Value*> carried;
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    if (!roles_->produced[inst.results[k]]) continue;
    numbers.push_back(k);
    carried.push_back(scalars_[inst.operands[3 + k]]);
  }
  DType dtype = function_.type(inst.operands[0]).dtype;
  auto goes_on = [&](llvm::Value* i) {
    return compare(Op::lt_, dtype, i, scalars_[inst.operands[1]]);
  };
  emit_loop(scalars_[inst.operands[0]], scalars_[inst.operands[2]], goes_on, carried,
            [&](llvm::Value* i) {
              scalars_[body.params[0]] = i;
              for (std::size_t j = 0; j < numbers.size(); ++j)
                scalars_[body.params[1 + numbers[j]]] = carried[j];
              produce(body);
              for (std::size_t j = 0; j < numbers.size(); ++j)
                carried[j] = scalars_[body.insts.back().operands[numbers[j]]];
            });
  for (std::size_t j = 0; j < numbers.size(); ++j) scalars_[inst.results[numbers[j]]] = carried[j];
}

void Emitter::produce_branch(const Inst& inst) {
  auto* join = llvm::BasicBlock::Create(context_, "join", kernel_);
  llvm::BasicBlock* sides[2] = {llvm::BasicBlock::Create(context_, "then", kernel_),
                                llvm::BasicBlock::Create(context_, "else", kernel_)};
  b_.CreateCondBr(scalars_[inst.operands[0]], sides[0], sides[1]);
  std::vector<llvm::Value*> given[2];
  for (std::size_t side = 0; side < 2; ++side) {
    b_.SetInsertPoint(sides[side]);
    produce(inst.bodies[side]);
    for (std::size_t k = 0; k < inst.results.size(); ++k)
      if (roles_->produced[inst.results[k]])
        given[side].push_back(scalars_[inst.bodies[side].insts.back().operands[k]]);
    sides[side] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  std::size_t at = 0;
  for (Value result : inst.results) {
    if (!roles_->produced[result]) continue;
    auto* phi = b_.CreatePHI(given[0][at]->getType(), 2);
    for (std::size_t side = 0; side < 2; ++side) phi->addIncoming(given[side][at], sides[side]);
    scalars_[result] = phi;
    ++at;
  }
}

llvm::Value* Emitter::coordinate_of(Value scalar) {
  return b_.CreateTrunc(index_of(scalar), b_.getInt32Ty());
}

void Emitter::fill(const Fetch& fetch) {
  const Ring& ring = roles_->rings[fetch.ring];
  llvm::Value* slot = take_turn(fetch.ring, true);
  auto* full = shared_pointer(b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(ring.barriers)));
  device("mbarrier_arrive_expect_tx", {full, i32(fetch.copied_bytes)});
  llvm::Value* stage = stage_of(ring, slot);
  for (std::size_t i = 0; i < fetch.loads.size(); ++i) {
    const StagedLoad& staged = fetch.loads[i];
    const layout::SharedLayout& shared = staged.shared;
    auto span = shared.swizzle_bytes() / shared.element_bytes();
    llvm::Value* row = coordinate_of(staged.load->operands[1]);
    llvm::Value* column = coordinate_of(staged.load->operands[2]);
    const BoxCopy& copy = fetch.copies[i];
    llvm::Value* map = map_param(copy.map);
    llvm::Value* start = stage;
    if (copy.is_shared) {  // this block's part, for all
      auto rows = static_cast<std::int32_t>(shared.shape()[0] / roles_->cluster);
      row = b_.CreateAdd(row, b_.CreateMul(cluster_rank_, i32(rows)));
      start = b_.CreateAdd(stage, b_.CreateMul(cluster_rank_, i32(shared.offset({rows, 0}))));
    }
    for (std::int32_t begin = 0; begin < shared.shape()[1]; begin += span) {
      auto* to = b_.CreateAdd(start, i32(staged.offset + shared.offset({0, begin})));
      std::vector<llvm::Value*> operands{shared_pointer(to), full, map,
                                         b_.CreateAdd(column, i32(begin)), row};
      for (Value index : copy.outer) operands.push_back(coordinate_of(index));
      std::string op = concat("tma_load_", operands.size() - 3, "d");
      if (copy.is_shared) {
        operands.push_back(b_.getInt16(static_cast<std::uint16_t>((1 << roles_->cluster) - 1)));
        op += "_multicast";
      }
      note_policy(device(op, operands), ir::cache_policy(*staged.load));
    }
  }
}

llvm::Value* Emitter::map_param(int map) {
  return kernel_->getArg(
      static_cast<unsigned>(function_.params.size() + static_cast<std::size_t>(map)));
}

}  // namespace tilewright::dsl::gpu
