// Kernels with roles (warp_specialisation.h): their frame, and the programs that each block takes.
#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;

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

}  // namespace tilewright::dsl::gpu
