// Loops whose loads run ahead of them (pipeline.h): filling the ring, and fragments out of it.
#include <algorithm>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Value;
using layout::In;
using layout::Layout;

// Copies the blocks that the loop loads at `index` into a stage (its offset in bytes, i32), if the
// loop goes so far; the copies are one group either way, so that groups can be counted.
void Emitter::fill_stage(const Inst& loop, const LoopPipeline& plan, llvm::Value* index,
                         llvm::Value* stage) {
  const ir::Block& body = loop.bodies[0];
  DType dtype = function_.type(loop.operands[0]).dtype;
  std::vector<llvm::Value*> scalars = scalars_;
  when(compare(ir::Op::lt_, dtype, index, scalars_[loop.operands[1]]), nullptr,
       [&]() -> llvm::Value* {
         scalars_[body.params[0]] = index;
         for (const Inst* inst : plan.addresses) scalar(*inst);
         for (const StagedLoad& staged : plan.loads) copy_block(staged, stage);
         return nullptr;
       });
  scalars_ = std::move(scalars);
  device("cp_async_commit");
}

void Emitter::copy_block(const StagedLoad& staged, llvm::Value* stage) {
  const ir::Type& type = function_.type(staged.load->results[0]);
  int width = static_cast<int>(16 / size_bytes(type.dtype));
  Layout layout = layout::blocked(type.shape, width, function_.warps);
  auto accesses = desc_accesses(*staged.load, 1, type, layout);
  touching(staged);
  when(owns(layout), nullptr, [&]() -> llvm::Value* {
    for (const Access& access : accesses) {
      llvm::Value* offset = b_.CreateAdd(
          stage, shared_offset(layout, staged.shared, access.registers[0], staged.offset));
      llvm::Value* bytes = i32(16);
      if (access.mask != nullptr) bytes = b_.CreateSelect(access.mask, bytes, i32(0));
      auto* copy = device("cp_async_16", {shared_pointer(offset), access.pointer, bytes});
      note_policy(noted(copy), ir::cache_policy(*staged.load));
    }
    return nullptr;
  });
}

std::optional<std::pair<const StagedLoad*, llvm::Value*>> Emitter::staged_load(
    Value operand) const {
  for (const OpenPipeline& open : open_pipelines_)
    for (const StagedLoad& staged : open.plan->loads)
      if (staged.operand == operand || staged.load->results[0] == operand)
        return std::pair(&staged, open.stage);
  return std::nullopt;
}

// Fragments as words of 32 bits, an instruction's after the other, straight from the ring.
Emitter::Words Emitter::staged_words(const StagedLoad& staged, llvm::Value* stage,
                                     const TensorCoreDot& how, int operand) {
  bool exchanged = (operand == 0) == staged.transposed;  // rows in memory do not go along k
  bool rounds = how.format == emulator::Format::tf32;
  Words words = rounds && exchanged ? single_words(staged, stage, operand == 0 ? how.a : how.b)
                                    : matrix_words(staged, stage, how, operand, exchanged);
  if (rounds) round_words(words);
  return words;
}

// Word by word: of 32 bits, ldmatrix exchanges halves.
Emitter::Words Emitter::single_words(const StagedLoad& staged, llvm::Value* stage,
                                     const Layout& fragments) {
  Layout stored = staged.transposed ? layout::permute(fragments, {1, 0}) : fragments;
  touching(staged);
  Words words;
  for (int r = 0; r < stored.registers(); ++r) {
    auto* at = b_.CreateAdd(stage, shared_offset(stored, staged.shared, r, staged.offset));
    words.push_back(noted(b_.CreateLoad(b_.getInt32Ty(), shared_pointer(at))));
  }
  return words;
}

// Each ldmatrix gives a thread its share of two or four blocks of 8 rows of 16 bytes, whose rows
// the lanes name.
Emitter::Words Emitter::matrix_words(const StagedLoad& staged, llvm::Value* stage,
                                     const TensorCoreDot& how, int operand, bool exchanged) {
  const Layout& fragments = operand == 0 ? how.a : how.b;
  int per_word = 4 / emulator::bytes_of(how.format);
  int count = fragments.registers() / per_word;
  int k_axis = operand == 0 ? 1 : 0;
  // For a right operand, four words are those of two instructions side by side, if there are two.
  int steps = fragments.shape()[k_axis] / how.k;
  int words = operand == 0 || count / (2 * steps) >= 2 ? 4 : 2;
  // The stored block may have the coordinates of the product's operand the other way round.
  auto offset = [&](std::int32_t along_k, std::int32_t across) {
    bool k_first = (k_axis == 0) != staged.transposed;
    return k_first ? staged.shared.offset({along_k, across})
                   : staged.shared.offset({across, along_k});
  };
  auto offset_of = [&](const Layout::Basis& place) {
    return offset(place[static_cast<std::size_t>(k_axis)],
                  place[static_cast<std::size_t>(1 - k_axis)]);
  };
  std::vector<std::int64_t> lanes, warps;
  for (int bit = 0; bit < 3; ++bit)
    lanes.push_back(exchanged ? offset(1 << bit, 0) : offset(0, 1 << bit));
  // The blocks of a left operand's instruction: rows first, then along k; of a right one's: along
  // k, then the neighbour's columns.
  lanes.push_back(operand == 0 ? offset(0, 8) : offset(how.k / 2, 0));
  lanes.push_back(words == 2 ? 0 : operand == 0 ? offset(how.k / 2, 0) : offset(0, 8));
  for (const Layout::Basis& basis : fragments.bases(In::warp)) warps.push_back(offset_of(basis));
  llvm::Value* thread = linear_in_thread(lanes, warps);

  touching(staged);
  std::string op = concat("ldmatrix_x", words, exchanged ? "_trans" : "");
  std::vector<llvm::Value*> result;
  for (int word = 0; word < count; word += words) {
    std::int64_t constant = offset_of(fragments.at(word * per_word, 0, 0));
    llvm::Value* at = b_.CreateAdd(b_.CreateXor(thread, i32(constant)), stage);
    if (staged.offset != 0) at = b_.CreateAdd(at, i32(staged.offset));
    llvm::Value* loaded = noted(device(op, {shared_pointer(at)}));
    for (int i = 0; i < words; ++i)
      result.push_back(b_.CreateExtractValue(loaded, static_cast<unsigned>(i)));
  }
  return result;
}

// A block in each stage of its ring, or all that is there.
void Emitter::touching(const StagedLoad& staged, bool whole_stage) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    auto [plan, start] = rings_[i];
    const auto& loads = plan->loads;
    if (std::ranges::none_of(loads, [&](const StagedLoad& load) { return &load == &staged; }))
      continue;
    std::int64_t begin = whole_stage ? 0 : staged.offset;
    std::int64_t bytes = whole_stage ? plan->stage_bytes : staged.shared.size_bytes();
    touching({.begin = start + begin,
              .end = start + begin + bytes,
              .ring = static_cast<int>(i),
              .stages = plan->stages,
              .ring_begin = start,
              .stage_bytes = plan->stage_bytes});
  }
}

// Before the loop: the stages of the first turns begin to fill. Gives the first stage's offset.
std::int64_t Emitter::open_ring(const Inst& loop, const LoopPipeline& plan) {
  require(loop.schedule.shared_bytes == plan.bytes(), "[loop] ", describe(loop.where), ": has ",
          loop.schedule.shared_bytes, " bytes of shared memory for stages of ", plan.bytes(),
          "; allocate_shared gives each ring the bytes that it needs");
  meet_before(loop, ir::Barrier::scratch);
  std::int64_t ring = loop.schedule.shared_offset;
  rings_.emplace_back(&plan, ring);
  llvm::Value* index = scalars_[loop.operands[0]];
  for (int s = 0; s < plan.distance(); ++s) {
    if (s > 0) index = b_.CreateAdd(index, scalars_[loop.operands[2]]);
    fill_stage(loop, plan, index, i32(ring + s * plan.stage_bytes));
  }
  return ring;
}

// At the start of a turn: `slot` is this turn's stage.
void Emitter::begin_turn(const Inst& loop, const LoopPipeline& plan, std::int64_t ring,
                         llvm::Value* index, llvm::Value* slot) {
  device(concat("cp_async_wait_", plan.distance() - 1));
  if (plan.warpgroups) device("fence_proxy_async");  // wgmma reads by another way
  barrier();
  // The stage that all threads are done with is the next to be filled.
  int back = plan.stages - plan.distance();
  auto* free =
      b_.CreateSelect(b_.CreateICmpULT(slot, i32(back)),
                      b_.CreateAdd(slot, i32(plan.stages - back)), b_.CreateSub(slot, i32(back)));
  llvm::Value* ahead = index;
  for (int s = 0; s < plan.distance(); ++s) ahead = b_.CreateAdd(ahead, scalars_[loop.operands[2]]);
  auto offset = [&](llvm::Value* stage) {
    return b_.CreateAdd(b_.CreateMul(stage, i32(plan.stage_bytes)), i32(ring));
  };
  fill_stage(loop, plan, ahead, offset(free));
  open_pipelines_.push_back({&plan, offset(slot)});
}

void Emitter::close_ring(const Inst& loop, const LoopPipeline& plan) {
  device("cp_async_wait_0");
  const Inst& yield = loop.bodies[0].insts.back();
  for (std::size_t k = 0; k < loop.results.size(); ++k)
    if (plan.deferred != nullptr && yield.operands[k] == plan.deferred->results[0])
      set(loop.results[k], finished(get(loop.results[k]), 0));
}

}  // namespace tilewright::dsl::gpu
