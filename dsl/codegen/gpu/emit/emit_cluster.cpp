// Between the blocks of a cluster: their barrier, and values that they combine through each other's
// shared memory.
//
// Each block writes what it has into the shared memory of all, at a place of its own; behind the
// cluster's barrier each reads from its own memory what all have written, and combines it in the
// order of ranks, so that all get the same. There are two sets of places, used in turn: when a set
// comes round again, all blocks have been at the barrier of the other, and so have read this one.
#include "dsl/codegen/gpu/emit/emitter.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Value;

// All threads of all blocks. No block reaches for another one's shared memory before that one has
// begun, or after it has ended: a barrier stands before the first time, and one behind the last.
void Emitter::cluster_barrier() {
  device("cluster_barrier_arrive");
  device("cluster_barrier_wait");
}

void Emitter::open_exchange() {
  ir::for_each_inst(function_.body, [&](const Inst& inst) {
    if (inst.op != ir::Op::cluster_reduce_ || function_.cluster == 1) return;
    require(target_.gpu().has_clusters, "[codegen] ", describe(inst.where),
            ": programs of a cluster exchange values on a GPU that has clusters (sm_90a), not on ",
            target_.cpu);
  });
  if (exchange_bytes_ == 0) return;
  require(function_.shared.reserved == 2 * function_.cluster * exchange_bytes_, "[codegen] @",
          function_.name, " reserves ", function_.shared.reserved,
          " bytes of shared memory, and its cluster exchanges values through ",
          2 * function_.cluster * exchange_bytes_, "; allocate_shared reserves these");
  exchange_turn_ = variable(i32(0));
  cluster_rank_ = device("cluster_rank");
  cluster_barrier();
}

void Emitter::cluster_reduce(const Inst& inst) {
  Value operand = inst.operands[0], result = inst.results[0];
  if (!is_tile(result)) {
    auto* first = first_thread();
    scalars_[result] = over_cluster(inst, {scalars_[operand]}, {i32(0)}, first)[0];
    return;
  }
  const Registers from = get(operand);
  const layout::Layout& layout = from.layout;
  Strides strides = row_major_strides(layout.shape());
  std::vector<int> first = layout::first_duplicates(layout);
  std::vector<llvm::Value*> mine, places;
  std::vector<std::size_t> number;  // of each register among those that differ
  for (int r = 0; r < layout.registers(); ++r) {
    auto i = static_cast<std::size_t>(r);
    if (first[i] != r) {
      number.push_back(number[static_cast<std::size_t>(first[i])]);
      continue;
    }
    number.push_back(mine.size());
    mine.push_back(from.values[i]);
    llvm::Value* place = i32(0);
    for (int axis = 0; axis < layout.shape().rank(); ++axis)
      place =
          b_.CreateAdd(place, b_.CreateMul(coordinate_value(layout, axis, r), i32(strides[axis])));
    places.push_back(place);
  }
  std::vector<llvm::Value*> all = over_cluster(inst, mine, places, owns(layout));
  Registers to{layout, {}, nullptr};
  for (std::size_t i : number) to.values.push_back(all[i]);
  set(result, std::move(to));
}

// Values of this block, each at its place among the elements of the tile, which threads write for
// which `own` holds (null: all).
std::vector<llvm::Value*> Emitter::over_cluster(const Inst& inst,
                                                const std::vector<llvm::Value*>& mine,
                                                const std::vector<llvm::Value*>& places,
                                                llvm::Value* own) {
  if (function_.cluster == 1) return mine;
  DType dtype = function_.type(inst.results[0]).dtype;
  llvm::Value* turn = b_.CreateLoad(b_.getInt32Ty(), exchange_turn_);
  b_.CreateStore(b_.CreateXor(turn, i32(1)), exchange_turn_);
  auto* set_start = b_.CreateMul(turn, i32(function_.cluster * exchange_bytes_));
  auto pointer = [&](llvm::Value* rank, llvm::Value* place) {
    auto* of_block = b_.CreateAdd(set_start, b_.CreateMul(rank, i32(exchange_bytes_)));
    return shared_pointer(b_.CreateAdd(of_block, b_.CreateMul(place, i32(size_bytes(dtype)))));
  };
  SharedAccess sets{.end = 2 * function_.cluster * exchange_bytes_, .by_cluster = true};
  touching(sets);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    llvm::Value* here = pointer(cluster_rank_, places[i]);
    for (int rank = 0; rank < function_.cluster; ++rank)
      store_one(device("mapa", {here, i32(rank)}), dtype, mine[i], own);
  }
  cluster_barrier();
  touching(sets);
  std::vector<llvm::Value*> all;
  for (llvm::Value* place : places) {
    llvm::Value* sum = nullptr;
    for (int rank = 0; rank < function_.cluster; ++rank) {
      llvm::Value* one = load_one(pointer(i32(rank), place), dtype, nullptr, nullptr);
      sum = sum == nullptr ? one : combine(inst.get<ir::Reduction>().kind, dtype, sum, one);
    }
    all.push_back(sum);
  }
  return all;
}

}  // namespace tilewright::dsl::gpu
