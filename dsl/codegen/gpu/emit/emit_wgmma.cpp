// Matrix products of warpgroups (wgmma): 128 threads multiply 64 rows at a time, reading both
// operands from shared memory by themselves, while the threads go on.
//
// An operand is named by a descriptor: where it starts, how far its groups of 8 rows are apart, and
// its swizzle, which is that of SharedLayout::tma. Stored with k innermost, 16 values of k are 32
// bytes within the swizzle's span, and the next 8 rows are 8 spans on. Stored the other way round,
// a span holds 16 to 64 neighbours across k: the next ones are a whole box on, the next 8 values of
// k 8 spans.
#include <algorithm>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;

namespace {

constexpr std::int32_t most_steps = 16;  // along k, of one call

}  // namespace

llvm::Value* Emitter::descriptor(const StagedLoad& staged, llvm::Value* start, int operand) {
  const layout::SharedLayout& shared = staged.shared;
  std::int64_t swizzle = shared.swizzle_bytes();
  bool k_innermost = (operand == 0) != staged.transposed;
  std::int64_t box = shared.shape()[0] * swizzle;  // all rows of one span
  std::int64_t leading = k_innermost ? 16 : box, stride = 8 * swizzle;
  std::int64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  std::int64_t fixed = leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
  auto* place = b_.CreateLShr(b_.CreateAnd(start, i32(0x3FFFF)), i32(4));
  return b_.CreateOr(b_.CreateZExt(place, b_.getInt64Ty()), i64(fixed));
}

std::optional<Registers> Emitter::dot_warpgroups(const Inst& inst, const TensorCoreDot& how) {
  if (const Fetch* fetch = roles_ ? roles_->fetch_at(&inst) : nullptr)
    return dot_roles(inst, how, *fetch);
  auto a = staged_load(inst.operands[0]), b = staged_load(inst.operands[1]);
  bool serves = how.warpgroups && how.format != emulator::Format::tf32;  // as in pipeline.cpp
  if (!serves || !a || !b || a->first->shared.swizzle_bytes() == 0 ||
      b->first->shared.swizzle_bytes() == 0)
    return std::nullopt;
  Registers result = issue_products(inst, how, a, *b);
  bool deferred = open_pipelines_.back().plan->deferred == &inst;
  return finished(std::move(result), deferred ? 1 : 0);
}

Registers Emitter::dot_roles(const Inst& inst, const TensorCoreDot& how, const Fetch& fetch) {
  const Ring& ring = roles_->rings[fetch.ring];
  llvm::Value* slot = take_turn(fetch.ring, false);
  llvm::Value* stage = stage_of(ring, slot);
  std::optional<Staged> a, b;
  for (const StagedLoad& load : fetch.loads)
    (load.operand == inst.operands[0] ? a : b) = Staged(&load, stage);
  for (const InvariantOperand& invariant : invariant_operands_)
    if (const StagedLoad& load = invariant.fetch->loads[0]; load.operand == inst.operands[0])
      a = Staged(&load, stage_of(roles_->rings[invariant.fetch->ring], invariant.slot));
  enter_alternation(inst);
  Registers result = issue_products(inst, how, a, *b);
  if (!fetch.deferred) {
    unfinished_.push_back({inst.results[0], &fetch, slot, false});
    return result;
  }
  has_products_over_turns_ = true;
  result = finished(std::move(result), 1);
  llvm::Value* before = deferred_[static_cast<std::size_t>(&fetch - roles_->fetches.data())];
  release(ring, b_.CreateLoad(b_.getInt32Ty(), before), true);
  b_.CreateStore(slot, before);
  return result;
}

// The products of all instructions along k, as one group; the right operand lies in shared memory,
// the left one there too or in registers.
Registers Emitter::issue_products(const Inst& inst, const TensorCoreDot& how,
                                  const std::optional<Staged>& a, const Staged& b) {
  Words left;
  if (!a) require_place(inst, inst.operands[0], how.a);
  if (!a) left = packed_words(get(inst.operands[0]), function_.type(inst.operands[0]), how, 1);
  Registers result = get(inst.operands[2]);
  std::int64_t columns = how.result.shape()[1], count = columns / 2;
  auto base = b_.CreatePtrToInt(shared_base_, b_.getInt32Ty());
  auto start = [&](const Staged& staged) {
    return b_.CreateAdd(b_.CreateAdd(base, staged.second), i32(staged.first->offset));
  };
  auto offset = [](const StagedLoad& staged, int operand, std::int32_t along_k,
                   std::int32_t across) {
    bool k_first = (operand == 1) != staged.transposed;
    return k_first ? staged.shared.offset({along_k, across})
                   : staged.shared.offset({across, along_k});
  };
  llvm::Value* a_start = nullptr;
  if (a) {
    // The same for all threads of a warpgroup, which the hardware must see.
    auto* group = b_.CreateLShr(device("shuffle_idx", {warp_, i32(0)}), i32(2));
    std::int64_t rows_apart = how.result.shape()[0] > 64 ? offset(*a->first, 0, 0, 64) : 0;
    a_start = b_.CreateAdd(start(*a), b_.CreateMul(group, i32(rows_apart)));
  }
  // The address is the descriptor's lowest field, in units of 16 bytes.
  llvm::Value* a_first = a ? descriptor(*a->first, a_start, 0) : nullptr;
  llvm::Value* b_first = descriptor(*b.first, start(b), 1);

  std::string op = concat("wgmma_m64n", columns, "k", how.k, "_", emulator::name_of(how.format),
                          a ? "_ss" : "_rs");
  if (emulator::bytes_of(how.format) == 2) {
    if (a && a->first->transposed) op += "_ta";
    if (!b.first->transposed) op += "_tb";
  }
  device("wgmma_fence");
  if (!roles_) touching(*b.first, true);
  // Many in one call: setting up a call's accumulators is slow to compile.
  std::int32_t steps = how.a.shape()[1] / how.k;
  for (std::int32_t first = 0; first < steps; first += most_steps) {
    std::int32_t here = std::min(steps - first, most_steps);
    std::vector<llvm::Value*> operands(result.values.begin(), result.values.begin() + count);
    for (std::int32_t step = first; step < first + here; ++step) {
      std::int32_t k = step * how.k;
      if (a)
        operands.push_back(b_.CreateAdd(a_first, i64(offset(*a->first, 0, k, 0) / 16)));
      else
        operands.insert(operands.end(), left.begin() + 4 * step, left.begin() + 4 * step + 4);
      operands.push_back(b_.CreateAdd(b_first, i64(offset(*b.first, 1, k, 0) / 16)));
    }
    operands.push_back(i32(1));
    llvm::Value* sums = device(here > 1 ? concat(op, "_x", here) : op, operands);
    if (!roles_) noted(sums);
    for (unsigned i = 0; i < count; ++i) result.values[i] = b_.CreateExtractValue(sums, i);
  }
  device("wgmma_commit");
  return result;
}

Registers Emitter::finished(Registers accumulators, int unfinished) {
  const std::vector<llvm::Value*>& values = accumulators.values;
  std::string_view letter = values[0]->getType()->isFloatTy() ? "f" : "i";
  llvm::Value* sums = device(concat("wgmma_wait_", unfinished, "_", letter, values.size()), values);
  for (unsigned i = 0; i < values.size(); ++i)
    accumulators.values[i] = b_.CreateExtractValue(sums, i);
  return accumulators;
}

}  // namespace tilewright::dsl::gpu
