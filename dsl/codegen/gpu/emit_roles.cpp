// Kernels with roles (warp_roles.h): their frame, the producer's way through the program, and the
// barriers that both roles meet at.
#include "dsl/codegen/gpu/emitter.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// Programs of neighbouring rows and columns of blocks run at the same time and share their operands
// in the L2 cache: so many along the first axis, then on along the second.
constexpr std::int64_t grouped_programs = 16;

}  // namespace

llvm::Value* Emitter::shared_pointer(llvm::Value* offset) {
  return b_.CreateGEP(b_.getInt8Ty(), shared_base_, offset);
}

llvm::Value* Emitter::variable(llvm::Value* initial) {
  llvm::BasicBlock& entry = kernel_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.getFirstInsertionPt());
  auto* place = at.CreateAlloca(initial->getType());
  b_.CreateStore(initial, place);
  return place;
}

// Barriers are initialised by one thread, before any other comes.
void Emitter::open_roles() {
  shared_peak_ = scratch_start_ = roles_->shared_bytes;
  auto* first = b_.CreateICmpEQ(b_.CreateOr(lane_, warp_), i32(0));
  when(first, nullptr, [&]() -> llvm::Value* {
    for (const Ring& ring : roles_->rings)
      for (int i = 0; i < 2 * roles_->stages; ++i) {
        bool full = i < roles_->stages;
        device("mbarrier_init", {shared_pointer(i32(ring.barriers + 8 * i)),
                                 i32(full ? 1 : roles_->consumer_warps)});
      }
    device("fence_mbarrier_init");
    return nullptr;
  });
  device("barrier");
}

void Emitter::start_turns(llvm::Value* parity) {
  turns_.clear();
  for (std::size_t i = 0; i < roles_->rings.size(); ++i)
    turns_.push_back({variable(i32(0)), variable(parity)});
}

void Emitter::run_roles() {
  open_roles();
  auto* producing = llvm::BasicBlock::Create(context_, "produce", kernel_);
  auto* consuming = llvm::BasicBlock::Create(context_, "consume", kernel_);
  // The same in all threads of a warpgroup, which the hardware must see.
  auto* warp = device("shuffle_idx", {warp_, i32(0)});
  b_.CreateCondBr(b_.CreateICmpUGE(warp, i32(roles_->consumer_warps)), producing, consuming);

  b_.SetInsertPoint(producing);
  device(concat("setmaxnreg_dec_", roles_->producer_registers()));
  auto* elected = b_.CreateAnd(b_.CreateICmpEQ(warp, i32(roles_->consumer_warps)),
                               b_.CreateICmpEQ(lane_, i32(0)));
  when(elected, nullptr, [&]() -> llvm::Value* {
    // A stage that nobody has filled yet is as free as one that was emptied.
    start_turns(i32(1));
    for_each_program([&] { produce(function_.body); });
    return nullptr;
  });
  b_.CreateRetVoid();

  b_.SetInsertPoint(consuming);
  device(concat("setmaxnreg_inc_", roles_->consumer_registers()));
  start_turns(i32(0));
  unfinished_.clear();
  for (std::size_t i = 0; i < roles_->rings.size(); ++i) unfinished_.push_back(variable(i32(-1)));
  // Programs of a grid do not wait for each other, but they use the same scratch.
  for_each_program([&] {
    pending_.shared = true;
    converted_.emplace_back();
    block(function_.body);
    converted_.pop_back();
  });
  if (!roles_->stores.empty())
    when(b_.CreateICmpEQ(b_.CreateOr(lane_, b_.CreateAnd(warp_, i32(3))), i32(0)), nullptr,
         [&]() -> llvm::Value* { return device("bulk_wait_read_0"); });
  b_.CreateRetVoid();
}

// body() for this block's programs: every so-many-th of the grid, in the order of groups.
void Emitter::for_each_program(const std::function<void()>& body) {
  auto sizes_at = static_cast<unsigned>(kernel_->arg_size()) - 3;
  llvm::Value* size[3];
  for (unsigned axis = 0; axis < 3; ++axis) size[axis] = kernel_->getArg(sizes_at + axis);
  llvm::Value* plane = b_.CreateMul(size[0], size[1]);
  llvm::Value* count = b_.CreateMul(plane, size[2]);
  llvm::Value* step = device("grid_size_x");
  llvm::Value* start = device("block_id_x");
  auto* before = b_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "next", kernel_);
  auto* inside = llvm::BasicBlock::Create(context_, "program", kernel_);
  auto* exit = llvm::BasicBlock::Create(context_, "last", kernel_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  auto* number = b_.CreatePHI(b_.getInt32Ty(), 2);
  number->addIncoming(start, before);
  b_.CreateCondBr(b_.CreateICmpULT(number, count), inside, exit);

  b_.SetInsertPoint(inside);
  auto* z = b_.CreateUDiv(number, plane);
  auto* in_plane = b_.CreateSub(number, b_.CreateMul(z, plane));
  auto* group_size = b_.CreateMul(size[1], i32(grouped_programs));
  auto* group = b_.CreateUDiv(in_plane, group_size);
  auto* in_group = b_.CreateSub(in_plane, b_.CreateMul(group, group_size));
  auto* first = b_.CreateMul(group, i32(grouped_programs));
  auto* left = b_.CreateSub(size[0], first);
  auto* rows =
      b_.CreateSelect(b_.CreateICmpULT(left, i32(grouped_programs)), left, i32(grouped_programs));
  auto* y = b_.CreateUDiv(in_group, rows);
  auto* x = b_.CreateAdd(first, b_.CreateSub(in_group, b_.CreateMul(y, rows)));
  llvm::Value* ids[3] = {x, y, z};
  for (std::size_t axis = 0; axis < 3; ++axis)
    program_ids_[axis] = b_.CreateZExt(ids[axis], b_.getInt64Ty());
  body();
  number->addIncoming(b_.CreateAdd(number, step), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
}

bool Emitter::is_in_ring(Value value) const {
  if (!roles_) return false;
  for (const Ring& ring : roles_->rings)
    for (const StagedLoad& load : ring.loads)
      if (load.operand == value || load.load->results[0] == value) return true;
  return false;
}

// Whether the producer has to do with an instruction: by what it gives, or by what is in it.
bool Emitter::is_produced(const Inst& inst) const {
  for (Value result : inst.results)
    if (roles_->produced[result]) return true;
  for (const ir::Block& body : inst.bodies)
    for (const Inst& inner : body.insts)
      if (is_produced(inner)) return true;
  return inst.op == Op::dot_ && roles_->ring_of(&inst) != nullptr;
}

// The blocks of a product are asked for where the product stands.
void Emitter::produce(const ir::Block& block) {
  for (const Inst& inst : block.insts) {
    if (!is_produced(inst)) continue;
    switch (inst.op) {
      case Op::dot_: fill(*roles_->ring_of(&inst)); break;
      case Op::loop_: produce_loop(inst); break;
      case Op::if_: produce_branch(inst); break;
      case Op::load_: load(inst); break;
      default: scalar(inst);
    }
  }
}

void Emitter::produce_loop(const Inst& inst) {
  const ir::Block& body = inst.bodies[0];
  const Inst& yield = body.insts.back();
  auto* before = b_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "header", kernel_);
  auto* inside = llvm::BasicBlock::Create(context_, "body", kernel_);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", kernel_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::Value* low = scalars_[inst.operands[0]];
  auto* i = b_.CreatePHI(low->getType(), 2);
  i->addIncoming(low, before);
  scalars_[body.params[0]] = i;
  std::vector<std::pair<std::size_t, llvm::PHINode*>> carried;
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    if (!roles_->produced[inst.results[k]]) continue;
    llvm::Value* start = scalars_[inst.operands[3 + k]];
    auto* phi = b_.CreatePHI(start->getType(), 2);
    phi->addIncoming(start, before);
    scalars_[body.params[1 + k]] = scalars_[inst.results[k]] = phi;
    carried.emplace_back(k, phi);
  }
  DType dtype = function_.type(inst.operands[0]).dtype;
  b_.CreateCondBr(compare(Op::lt_, dtype, i, scalars_[inst.operands[1]]), inside, exit);
  b_.SetInsertPoint(inside);
  produce(body);
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(b_.CreateAdd(i, scalars_[inst.operands[2]]), latch);
  for (auto [k, phi] : carried) phi->addIncoming(scalars_[yield.operands[k]], latch);
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
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

void Emitter::await_barrier(llvm::Value* barrier, llvm::Value* parity) {
  auto* again = llvm::BasicBlock::Create(context_, "await", kernel_);
  auto* after = llvm::BasicBlock::Create(context_, "arrived", kernel_);
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  b_.CreateCondBr(device("mbarrier_try_wait_parity", {barrier, parity}), after, again);
  b_.SetInsertPoint(after);
}

llvm::Value* Emitter::await(const Ring& ring, std::int64_t barriers) {
  Turns& turns = turns_[static_cast<std::size_t>(&ring - roles_->rings.data())];
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), turns.slot);
  llvm::Value* parity = b_.CreateLoad(b_.getInt32Ty(), turns.parity);
  auto* place = b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(barriers));
  await_barrier(shared_pointer(place), parity);
  return slot;
}

void Emitter::advance(const Ring& ring) {
  Turns& turns = turns_[static_cast<std::size_t>(&ring - roles_->rings.data())];
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), turns.slot);
  llvm::Value* parity = b_.CreateLoad(b_.getInt32Ty(), turns.parity);
  auto* wraps = b_.CreateICmpEQ(slot, i32(roles_->stages - 1));
  b_.CreateStore(b_.CreateSelect(wraps, i32(0), b_.CreateAdd(slot, i32(1))), turns.slot);
  b_.CreateStore(b_.CreateXor(parity, b_.CreateZExt(wraps, b_.getInt32Ty())), turns.parity);
}

llvm::Value* Emitter::coordinate_of(Value scalar) {
  return b_.CreateTrunc(index_of(scalar), b_.getInt32Ty());
}

void Emitter::fill(const Ring& ring) {
  llvm::Value* slot = await(ring, ring.barriers + 8 * roles_->stages);
  auto* full = shared_pointer(b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(ring.barriers)));
  device("mbarrier_arrive_expect_tx", {full, i32(ring.stage_bytes)});
  auto* stage = b_.CreateAdd(b_.CreateMul(slot, i32(ring.stage_bytes)), i32(ring.start));
  for (std::size_t i = 0; i < ring.loads.size(); ++i) {
    const StagedLoad& staged = ring.loads[i];
    const layout::SharedLayout& shared = staged.shared;
    auto span = shared.swizzle_bytes() / shared.element_bytes();
    llvm::Value* row = coordinate_of(staged.load->operands[1]);
    llvm::Value* column = coordinate_of(staged.load->operands[2]);
    auto* map = kernel_->getArg(
        static_cast<unsigned>(function_.params.size() + static_cast<std::size_t>(ring.maps[i])));
    for (std::int32_t begin = 0; begin < shared.shape()[1]; begin += span) {
      auto* to = b_.CreateAdd(stage, i32(staged.offset + shared.offset({0, begin})));
      std::vector<llvm::Value*> operands{shared_pointer(to), full, map,
                                         b_.CreateAdd(column, i32(begin)), row};
      for (Value index : ring.copies[i].outer) operands.push_back(coordinate_of(index));
      device(concat("tma_load_", operands.size() - 3, "d"), operands);
    }
  }
  advance(ring);
}

llvm::Value* Emitter::acquire(const Ring& ring) {
  llvm::Value* slot = await(ring, ring.barriers);
  advance(ring);
  return slot;
}

// Each warp speaks for its lanes.
void Emitter::release(const Ring& ring, llvm::Value* slot) {
  auto* empty = b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(ring.barriers + 8 * roles_->stages));
  when(b_.CreateICmpEQ(lane_, i32(0)), nullptr,
       [&] { return device("mbarrier_arrive", {shared_pointer(empty)}); });
}

// The stage of the product before, if there was one.
void Emitter::release_deferred(const Ring& ring) {
  auto at = static_cast<std::size_t>(&ring - roles_->rings.data());
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), unfinished_[at]);
  auto* speaks = b_.CreateAnd(b_.CreateICmpEQ(lane_, i32(0)), b_.CreateICmpSGE(slot, i32(0)));
  auto* empty = b_.CreateAdd(b_.CreateShl(slot, i32(3)), i32(ring.barriers + 8 * roles_->stages));
  when(speaks, nullptr, [&] { return device("mbarrier_arrive", {shared_pointer(empty)}); });
}

// After a loop with a deferred product: its last turn's is awaited.
void Emitter::close_deferred(const Inst& loop) {
  const Inst& yield = loop.bodies[0].insts.back();
  for (std::size_t i = 0; i < roles_->rings.size(); ++i) {
    const Ring& ring = roles_->rings[i];
    if (!ring.deferred) continue;
    for (std::size_t k = 0; k < loop.results.size(); ++k) {
      if (yield.operands[k] != ring.dot->results[0]) continue;
      set(loop.results[k], finished(get(loop.results[k]), 0));
      release_deferred(ring);
      b_.CreateStore(i32(-1), unfinished_[i]);
    }
  }
}

// Rows of 64 and 128 bytes a row at a time: each warpgroup puts its box into shared memory,
// swizzled so that neither side meets a bank twice, and one of its threads has it copied. There are
// two boxes, so that one is filled while the other is read.
void Emitter::store_boxes(const Inst& inst, const TensorStore& how) {
  const ir::Type& type = function_.type(inst.operands[1]);
  auto bytes = static_cast<int>(size_bytes(type.dtype));
  int span = 128 / bytes, warpgroups = roles_->warpgroups();
  layout::Layout layout = layout::mma_result(type.shape, roles_->consumer_warps, 1);
  Registers from = get(inst.operands[1], layout);
  auto box = layout::SharedLayout::tma({64, span}, bytes, 128);
  auto* warpgroup = b_.CreateLShr(warp_, i32(2));
  auto* leads = b_.CreateICmpEQ(b_.CreateOr(lane_, b_.CreateAnd(warp_, i32(3))), i32(0));
  auto* row = b_.CreateAdd(coordinate_of(inst.operands[2]), b_.CreateShl(warpgroup, i32(6)));
  llvm::Value* column = coordinate_of(inst.operands[3]);
  auto* map = kernel_->getArg(
      static_cast<unsigned>(function_.params.size() + static_cast<std::size_t>(how.map)));
  // An odd number of boxes ends where the next block begins.
  int unread = type.shape[1] / span % 2 == 0 ? 1 : 0;
  // Places within a box: lanes and warps of a warpgroup as the layout has them, its rows from 0.
  std::vector<std::int64_t> lanes, warps;
  for (int bit = 0; bit < 5; ++bit) lanes.push_back(box.offset(layout.at(0, 1 << bit, 0)));
  for (int bit = 0; bit < 2; ++bit) warps.push_back(box.offset(layout.at(0, 0, 1 << bit)));
  for (int rest = 4; rest < roles_->consumer_warps; rest *= 2) warps.push_back(0);
  llvm::Value* thread = linear_in_thread(lanes, warps);
  for (int begin = 0; begin < type.shape[1]; begin += span) {
    int number = begin / span % 2;
    auto* start = b_.CreateAdd(b_.CreateMul(warpgroup, i32(staged_box_bytes)),
                               i32(roles_->staging + number * warpgroups * staged_box_bytes));
    when(leads, nullptr, [&] { return device(concat("bulk_wait_read_", unread)); });
    warpgroup_barrier();
    for (auto& group : neighbours(layout, 4 / bytes * 2)) {
      layout::Layout::Basis place = layout.at(group[0], 0, 0);
      if (place[1] < begin || place[1] >= begin + span) continue;
      auto* offset = b_.CreateXor(thread, i32(box.offset({place[0], place[1] - begin})));
      store_group({group, shared_pointer(b_.CreateAdd(start, offset)), nullptr}, type.dtype, from);
    }
    device("fence_proxy_async");
    warpgroup_barrier();
    when(leads, nullptr, [&]() -> llvm::Value* {
      std::vector<llvm::Value*> operands{shared_pointer(start), map,
                                         b_.CreateAdd(column, i32(begin)), row};
      for (Value index : how.copy.outer) operands.push_back(coordinate_of(index));
      device(concat("tma_store_", operands.size() - 2, "d"), operands);
      return device("bulk_commit");
    });
  }
}

// Of the four warps of a warpgroup; barriers 2 and on are theirs.
void Emitter::warpgroup_barrier() {
  auto* id = b_.CreateAdd(b_.CreateLShr(warp_, i32(2)), i32(2));
  device("named_barrier_sync", {id, i32(128)});
}

}  // namespace tilewright::dsl::gpu
