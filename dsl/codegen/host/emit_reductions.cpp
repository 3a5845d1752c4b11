// Reductions in loop nests: along the lanes in registers, across rows in scratch memory.
#include <numeric>

#include "dsl/codegen/host/loop_nest.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::ReduceKind;
using ir::Value;

void Emitter::prepare_reductions(LoopNest& s) {
  for (const Root& root : s.roots) {
    if (root.inst == nullptr || root.inst->op != Op::reduce_) continue;
    auto [kind, axis] = root.inst->get<ir::Reduction>();
    if (defs_.is_tile(root.inst->results[0])) allocate(root.inst->results[0]);
    if (axis == s.lane) {
      s.in_registers.push_back({root.inst, s.per_copy});
      s.per_copy += is_arg(kind) ? 2 : 1;
      continue;
    }
    // One accumulator for each place of the result; an argmax keeps its best values beside it.
    s.in_scratch.push_back(&root);
    const Slot& result = slots_.at(root.inst->results[0]);
    DType dtype = function_.type(root.value).dtype;
    std::int64_t count = element_count(result.type.shape);
    if (is_arg(kind)) {
      ir::Type best = result.type.with_dtype(dtype);
      Slot slot = allocate(best);
      scratch_best_[root.inst] = slot.data;
    }
    llvm::Value* target = is_arg(kind) ? scratch_best_.at(root.inst) : result.data;
    llvm::Value* start = to_memory(identity(kind, dtype), dtype);
    std::vector<llvm::Value*> none;
    emit_loop(index(count), 1, none, [&](llvm::Value* i) {
      b_.CreateStore(start, gep(target, dtype, i));
      if (is_arg(kind)) b_.CreateStore(b_.getInt32(0), gep(result.data, DType::i32, i));
    });
  }
}

// True if the value is a product that only a sum uses, so that both become an fma and its rounding
// is left out.
bool Emitter::adds_product(Value value) const {
  const Inst* inst = defs_.inst(value);
  return tail_ == nullptr && inst != nullptr && inst->op == Op::mul_ &&
         function_.type(value).dtype == DType::f32 && use_counts_[value] == 1 &&
         !slots_.contains(value);
}

// A reduction along an axis that is not the lanes': the accumulators are in scratch memory.
void Emitter::reduce_across(LoopNest& s, const Root& root) {
  auto [kind, axis] = root.inst->get<ir::Reduction>();
  DType dtype = function_.type(root.value).dtype;
  const Slot& result = slots_.at(root.inst->results[0]);
  Position place = s.position;
  llvm::Value* here = place.index[static_cast<std::size_t>(axis)];
  place.index.erase(place.index.begin() + axis);
  if (place.lane > axis) --place.lane;
  if (!is_arg(kind)) {
    auto parts = s.parts.find(root.inst);
    const Slot& sums = parts == s.parts.end() ? result : parts->second[0];
    llvm::Value* x = reduced_rows(s, root, 0, axis == s.row_axis ? s.rows.size() : 1);
    write_slot(sums, place, {combine(kind, dtype, spread(read_slot(sums, place)), x), lanes_ == 1});
    return;
  }
  Lanes x = evaluate(root.value, s.position);
  Slot best{scratch_best_.at(root.inst), result.type.with_dtype(dtype), result.strides};
  llvm::Value *old = spread(read_slot(best, place)), *now = spread(x);
  llvm::Value* old_index = spread(read_slot(result, place));
  llvm::Value* row = spread({b_.CreateTrunc(here, b_.getInt32Ty()), true});
  keep_better(kind, dtype, old, old_index, now, row);
  write_slot(best, place, {old, lanes_ == 1});
  write_slot(result, place, {old_index, lanes_ == 1});
}

// Combines some rows of one iteration as a balanced tree.
llvm::Value* Emitter::reduced_rows(const LoopNest& s, const Root& root, std::size_t first,
                                   std::size_t count) {
  if (count > 1) {
    auto [kind, axis] = root.inst->get<ir::Reduction>();
    llvm::Value* upper = reduced_rows(s, root, first, count / 2);
    llvm::Value* lower = reduced_rows(s, root, first + count / 2, count - count / 2);
    return combine(kind, function_.type(root.value).dtype, upper, lower);
  }
  Position at = s.position;
  if (first > 0) at.index[static_cast<std::size_t>(s.row_axis)] = s.rows[first];
  return spread(evaluate(root.value, at));
}

void Emitter::combine_copies(const LoopNest& s, std::vector<llvm::Value*>& accumulators) {
  if (s.per_copy == 0) return;
  for (std::size_t copy = s.per_copy; copy < accumulators.size(); copy += s.per_copy)
    for (const auto& r : s.in_registers) {
      auto [kind, axis] = r.inst->get<ir::Reduction>();
      DType dtype = function_.type(r.inst->operands[0]).dtype;
      llvm::Value*& to = accumulators[r.first];
      llvm::Value* from = accumulators[copy + r.first];
      if (!is_arg(kind)) {
        to = combine(kind, dtype, to, from);
        continue;
      }
      keep_better(kind, dtype, to, accumulators[r.first + 1], from,
                  accumulators[copy + r.first + 1]);
    }
}

void Emitter::finish_reductions(LoopNest& s, std::vector<llvm::Value*>& accumulators) {
  for (const auto& r : s.in_registers) {
    Value result = r.inst->results[0];
    llvm::Value* value =
        is_arg(r.inst->get<ir::Reduction>().kind)
            ? horizontal_arg(*r.inst, accumulators[r.first], accumulators[r.first + 1]).second
            : horizontal(*r.inst, accumulators[r.first]);
    if (!defs_.is_tile(result)) {
      scalars_[result] = value;
      continue;
    }
    Position place = s.position;
    place.index.erase(place.index.begin() + s.lane);
    place.lane = -1;
    write_slot(slots_.at(result), place, {value, true});
  }
}

std::pair<llvm::Value*, llvm::Value*> Emitter::halves(llvm::Value* vector) {
  auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  std::vector<int> lower(static_cast<std::size_t>(lanes / 2)), upper = lower;
  std::iota(lower.begin(), lower.end(), 0);
  std::iota(upper.begin(), upper.end(), lanes / 2);
  return {b_.CreateShuffleVector(vector, lower), b_.CreateShuffleVector(vector, upper)};
}

llvm::Value* Emitter::horizontal(const Inst& inst, llvm::Value* vector) {
  if (lanes_ == 1) return vector;
  ReduceKind kind = inst.get<ir::Reduction>().kind;
  DType dtype = function_.type(inst.operands[0]).dtype;
  while (llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements() > 1) {
    auto [lower, upper] = halves(vector);
    vector = combine(kind, dtype, lower, upper);
  }
  return b_.CreateExtractElement(vector, std::uint64_t{0});
}

std::pair<llvm::Value*, llvm::Value*> Emitter::horizontal_arg(const Inst& inst, llvm::Value* vector,
                                                              llvm::Value* indices) {
  if (lanes_ == 1) return {vector, indices};
  ReduceKind kind = inst.get<ir::Reduction>().kind;
  DType dtype = function_.type(inst.operands[0]).dtype;
  while (llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements() > 1) {
    auto [best, other] = halves(vector);
    auto [best_index, other_index] = halves(indices);
    keep_better(kind, dtype, best, best_index, other, other_index);
    vector = best;
    indices = best_index;
  }
  return {b_.CreateExtractElement(vector, std::uint64_t{0}),
          b_.CreateExtractElement(indices, std::uint64_t{0})};
}

llvm::Value* Emitter::identities(ReduceKind kind, DType dtype, int lanes) {
  llvm::Constant* value = identity(kind, dtype);
  if (lanes == 1) return value;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)),
                                        value);
}

}  // namespace tilewright::dsl
