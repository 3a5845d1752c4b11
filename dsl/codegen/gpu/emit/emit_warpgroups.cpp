// The work of the consumer warpgroups of a kernel with roles (warp_specialisation.h) beside
// multiplying: they store their rows by TMA, and take turns at the tensor cores.
#include <algorithm>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "dsl/layout/families.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Value;

namespace {

// Barriers by number, of this warpgroup's warps, and for its turn; 1 is that of all consumers.
constexpr std::int64_t own_barriers = 2, turn_barriers = 4;

}  // namespace

// Rows of 64 and 128 bytes a row at a time: each warpgroup puts its box into shared memory,
// swizzled so that neither side meets a bank twice, and one of its threads has it copied. There are
// two boxes, so that one is filled while the other is read.
void Emitter::store_boxes(const Inst& inst, const TensorStore& how) {
  const ir::Type& type = function_.type(inst.operands[1]);
  auto bytes = static_cast<int>(size_bytes(type.dtype));
  int span = 128 / bytes, warpgroups = roles_->warpgroups();
  require_place(inst, inst.operands[1], layout::mma_result(type.shape, roles_->consumer_warps, 1));
  Registers from = get(inst.operands[1]);
  auto* warpgroup = b_.CreateLShr(warp_, i32(2));
  auto* row = b_.CreateAdd(coordinate_of(inst.operands[2]), b_.CreateShl(warpgroup, i32(6)));
  llvm::Value* column = coordinate_of(inst.operands[3]);
  llvm::Value* map = map_param(how.copy.map);
  // The next block begins with the first box, where one of an odd number of boxes has ended, be it
  // another store's.
  auto is_even = [&](const TensorStore& store) {
    const ir::Type& stored = function_.type(store.store->operands[1]);
    return stored.shape[1] * size_bytes(stored.dtype) / 128 % 2 == 0;
  };
  int unread = std::ranges::all_of(roles_->stores, is_even) ? 1 : 0;
  for (int begin = 0; begin < type.shape[1]; begin += span) {
    int number = begin / span % 2;
    auto* start = b_.CreateAdd(b_.CreateMul(warpgroup, i32(staged_box_bytes)),
                               i32(roles_->staging + number * warpgroups * staged_box_bytes));
    when(leads_, nullptr, [&] { return device(concat("bulk_wait_read_", unread)); });
    warpgroup_barrier();
    std::int64_t boxes = roles_->staging + number * warpgroups * staged_box_bytes;
    SharedAccess touch{
        .begin = boxes, .end = boxes + warpgroups * staged_box_bytes, .by_warpgroup = true};
    touching(touch);
    fill_box(from, type.dtype, begin, start);
    device("fence_proxy_async");
    warpgroup_barrier();
    when(leads_, nullptr, [&]() -> llvm::Value* {
      std::vector<llvm::Value*> operands{shared_pointer(start), map,
                                         b_.CreateAdd(column, i32(begin)), row};
      for (Value index : how.copy.outer) operands.push_back(coordinate_of(index));
      touching(touch);
      when(program_exists_, nullptr, [&] {
        auto* copy = noted(device(concat("tma_store_", operands.size() - 2, "d"), operands));
        note_policy(copy, ir::cache_policy(inst));
        return copy;
      });
      return device("bulk_commit");  // a group of no stores counts too
    });
  }
}

// The columns of accumulators from `begin` on that a box has, as TMA reads them. Elements of 16
// bits go four 8x8 matrices at a time: lanes name the rows, of two matrices side by side two
// times 8.
void Emitter::fill_box(const Registers& from, DType dtype, int begin, llvm::Value* start) {
  auto bytes = static_cast<int>(size_bytes(dtype));
  int span = 128 / bytes;
  auto box = layout::SharedLayout::tma({64, span}, bytes, 128);
  bool by_matrices = bytes == 2;
  std::vector<std::int64_t> lanes, warps{box.offset({16, 0}), box.offset({32, 0})};
  for (int bit = 0; bit < 5; ++bit)
    lanes.push_back(box.offset(by_matrices ? bit < 4 ? std::vector<std::int32_t>{1 << bit, 0}
                                                     : std::vector<std::int32_t>{0, 8}
                                           : from.layout.at(0, 1 << bit, 0)));
  for (int rest = 4; rest < roles_->consumer_warps; rest *= 2) warps.push_back(0);
  llvm::Value* thread = linear_in_thread(lanes, warps);
  auto place = [&](std::int32_t row, std::int32_t column) {
    auto* offset = b_.CreateXor(thread, i32(box.offset({row, column})));
    return shared_pointer(b_.CreateAdd(start, offset));
  };
  if (by_matrices) {
    for (int column = 0; column < span; column += 16) {
      std::vector<llvm::Value*> operands{place(0, column)};
      auto first = static_cast<std::size_t>((begin + column) / 2);
      for (std::size_t word = 0; word < 4; ++word)
        operands.push_back(packed(from, first + 2 * word, 2));
      noted(device("stmatrix_x4", operands));
    }
    return;
  }
  for (auto& group : neighbours(from.layout, 2)) {
    layout::Layout::Basis at = from.layout.at(group[0], 0, 0);
    if (at[1] >= begin && at[1] < begin + span)
      store_group({group, place(at[0], at[1] - begin), nullptr}, dtype, from);
  }
}

// A barrier for the four warps of a warpgroup.
void Emitter::warpgroup_barrier() {
  auto* id = b_.CreateAdd(b_.CreateLShr(warp_, i32(2)), i32(own_barriers));
  device("named_barrier_sync", {id, i32(128)});
}

llvm::Value* Emitter::alternation_barrier(bool mine) {
  auto* warpgroup = b_.CreateLShr(device("shuffle_idx", {warp_, i32(0)}), i32(2));
  auto* whose = mine ? warpgroup : b_.CreateXor(warpgroup, i32(1));
  return b_.CreateAdd(whose, i32(turn_barriers));
}

// The second warpgroup gives the first its first turn, and after all programs the first takes the
// one that is left over. In between, loops leave the turn where they found it: both go round them
// equally often.
void Emitter::open_alternation() {
  if (roles_->alternating.empty()) return;
  when(b_.CreateICmpUGE(warp_, i32(4)), nullptr, [&] {
    return device("named_barrier_arrive", {alternation_barrier(false), i32(256)});
  });
}

void Emitter::close_alternation() {
  if (roles_->alternating.empty()) return;
  when(b_.CreateICmpULT(warp_, i32(4)), nullptr, [&] {
    return device("named_barrier_sync", {alternation_barrier(true), i32(256)});
  });
}

// Before the first product of a turn.
void Emitter::enter_alternation(const Inst& dot) {
  for (const Inst* loop : roles_->alternating) {
    const auto& insts = loop->bodies[0].insts;
    if (&*std::ranges::find(insts, ir::Op::dot_, &Inst::op) != &dot) continue;
    device("named_barrier_sync", {alternation_barrier(true), i32(256)});
    in_alternation_ = true;
  }
}

// As soon as this warpgroup waits for its products, or is done, the other one may issue its own.
void Emitter::leave_alternation() {
  if (!in_alternation_) return;
  in_alternation_ = false;
  device("named_barrier_arrive", {alternation_barrier(false), i32(256)});
}

}  // namespace tilewright::dsl::gpu
