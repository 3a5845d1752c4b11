// Kernels with roles (warp_specialisation.h): their frame, the producer's way through the program,
// and the barriers that both roles meet at.
#include "dsl/codegen/gpu/emit/emitter.h"
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

// True if programs may go through loops of different lengths.
bool has_loops_of_own_length(const ir::Function& function, const Uses& uses) {
  bool found = false;
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    if (inst.op != Op::loop_) return;
    for (int i = 0; i < 2; ++i) {
      const Inst* bound = uses.definition(inst.operands[static_cast<std::size_t>(i)]);
      found = found || (bound != nullptr && bound->op != Op::constant_);
    }
  });
  return found;
}

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
  require(function_.shared.reserved == roles_->shared_bytes, "[codegen] @", function_.name,
          " reserves ", function_.shared.reserved, " bytes of shared memory, and its roles need ",
          roles_->shared_bytes, "; allocate_shared reserves these");
  auto* first = b_.CreateICmpEQ(b_.CreateOr(lane_, warp_), i32(0));
  when(first, nullptr, [&]() -> llvm::Value* {
    for (const Ring& ring : roles_->rings)
      for (int i = 0; i < 2 * ring.stages; ++i) {
        bool full = i < ring.stages;
        int consumers = roles_->consumer_warps * (ring.is_shared ? roles_->cluster : 1);
        device("mbarrier_init",
               {shared_pointer(i32(ring.barriers + 8 * i)), i32(full ? 1 : consumers)});
      }
    device("fence_mbarrier_init");
    return nullptr;
  });
  if (roles_->cluster == 1) {
    device("barrier");
  } else {
    cluster_barrier();
    cluster_rank_ = device("cluster_rank");
  }
}

void Emitter::start_turns(llvm::Value* parity) {
  turns_.clear();
  for (std::size_t i = 0; i < roles_->rings.size(); ++i)
    turns_.push_back({variable(i32(0)), variable(parity)});
}

void Emitter::run_roles() {
  open_roles();
  let_next_grid_begin();
  auto* producing = llvm::BasicBlock::Create(context_, "produce", kernel_);
  auto* consuming = llvm::BasicBlock::Create(context_, "consume", kernel_);
  // The same in all threads of a warpgroup, which the hardware must see.
  auto* warp = device("shuffle_idx", {warp_, i32(0)});
  b_.CreateCondBr(b_.CreateICmpUGE(warp, i32(roles_->consumer_warps)), producing, consuming);

  b_.SetInsertPoint(producing);
  device(concat("setmaxnreg_dec_", roles_->producer_registers()));
  when(b_.CreateICmpEQ(warp, i32(roles_->consumer_warps)), nullptr, [&] {
    // The assembler knows that one thread is elected, and copies without a loop over threads.
    auto* elected = b_.CreateExtractValue(device("elect"), 1);
    return when(elected, nullptr, [&]() -> llvm::Value* {
      // A stage that nobody has filled yet is as free as one that was emptied.
      start_turns(i32(1));
      device("griddepcontrol_wait");
      for_each_program([&] { produce(function_.body); });
      return nullptr;
    });
  });
  if (roles_->cluster > 1) cluster_barrier();
  b_.CreateRetVoid();

  b_.SetInsertPoint(consuming);
  device(concat("setmaxnreg_inc_", roles_->consumer_registers()));
  start_turns(i32(0));
  for (std::size_t i = 0; i < roles_->fetches.size(); ++i) deferred_.push_back(variable(i32(-1)));
  leads_ = b_.CreateICmpEQ(b_.CreateOr(lane_, b_.CreateAnd(warp_, i32(3))), i32(0));
  open_alternation();
  device("griddepcontrol_wait");
  for_each_program([&] {
    block(function_.body);
    finish_products();
  });
  close_alternation();
  if (!roles_->stores.empty())
    when(leads_, nullptr, [&]() -> llvm::Value* { return device("bulk_wait_read_0"); });
  // Others may still say that they are done with a stage.
  if (roles_->cluster > 1) cluster_barrier();
  b_.CreateRetVoid();
}

// body() for this block's programs: one of each round of the grid, in the order of groups. Where
// some programs have more to do (causal attention), whole rounds go to and fro: if work grows along
// the grid, or repeats with a period that blocks have too, none has the most of every round. For a
// cluster it is the same for all blocks, which take neighbours along an axis.
void Emitter::for_each_program(const std::function<void()>& body) {
  auto sizes_at = static_cast<unsigned>(kernel_->arg_size()) - 3;
  llvm::Value* size[3];
  for (unsigned axis = 0; axis < 3; ++axis) size[axis] = kernel_->getArg(sizes_at + axis);
  const int cluster = roles_->cluster;
  auto shared_axis = static_cast<std::size_t>(roles_->cluster_axis);
  llvm::Value* programs = size[shared_axis];
  if (cluster > 1)
    size[shared_axis] = b_.CreateUDiv(b_.CreateAdd(programs, i32(cluster - 1)), i32(cluster));
  llvm::Value* plane = b_.CreateMul(size[0], size[1]);
  llvm::Value* count = b_.CreateMul(plane, size[2]);
  for (unsigned axis = 0; axis < 3; ++axis)
    grid_sizes_[axis] = b_.CreateZExt(kernel_->getArg(sizes_at + axis), b_.getInt64Ty());
  llvm::Value* step = b_.CreateUDiv(device("grid_size_x"), i32(cluster));
  llvm::Value* start = b_.CreateUDiv(device("block_id_x"), i32(cluster));
  std::vector<llvm::Value*> none;
  llvm::Value* more = nullptr;
  auto goes_on = [&](llvm::Value* number) { return more = b_.CreateICmpULT(number, count); };
  auto* last = b_.CreateSub(step, i32(1));
  const bool to_and_fro = has_loops_of_own_length(function_, uses_);
  emit_loop(start, step, goes_on, none, [&](llvm::Value* turn) {
    auto* round = b_.CreateSub(turn, start);
    auto* is_whole = b_.CreateICmpULE(b_.CreateAdd(round, step), count);
    auto* is_odd = b_.CreateTrunc(b_.CreateUDiv(round, step), b_.getInt1Ty());
    auto* from_end = b_.CreateSub(b_.CreateAdd(round, last), start);
    llvm::Value* number =
        to_and_fro ? b_.CreateSelect(b_.CreateAnd(is_whole, is_odd), from_end, turn) : turn;
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
    if (cluster > 1) {
      llvm::Value* own = b_.CreateAdd(b_.CreateMul(ids[shared_axis], i32(cluster)), cluster_rank_);
      program_exists_ = b_.CreateICmpULT(own, programs);
      ids[shared_axis] = b_.CreateSelect(program_exists_, own, b_.CreateSub(programs, i32(1)));
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      program_ids_[axis] = b_.CreateZExt(ids[axis], b_.getInt64Ty());
    body();
  });
  llvm::cast<llvm::Instruction>(*more->user_begin())
      ->setMetadata(programs_note, llvm::MDNode::get(context_, {}));
}

bool Emitter::is_in_ring(Value value) const {
  if (!roles_) return false;
  for (const Fetch& fetch : roles_->fetches)
    for (const StagedLoad& load : fetch.loads)
      if (load.operand == value || load.load->results[0] == value) return true;
  return false;
}

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

llvm::Value* Emitter::map_param(int map) {
  return kernel_->getArg(
      static_cast<unsigned>(function_.params.size() + static_cast<std::size_t>(map)));
}

}  // namespace tilewright::dsl::gpu
