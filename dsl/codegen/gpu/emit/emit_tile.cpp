// Tiles in registers: where their elements are, and the operations that move nothing.
#include "dsl/codegen/gpu/emit/emitter.h"
#include "dsl/ir/verify_stages.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::In;
using layout::Layout;

const Registers& Emitter::get(Value value) {
  finish_product(value);
  auto found = tiles_.find(value);
  check(found != tiles_.end(), "a tile is used before it was emitted");
  return found->second;
}

void Emitter::set(Value value, Registers registers) {
  tiles_.insert_or_assign(value, std::move(registers));
}

void Emitter::require_place(const Inst& inst, Value value, const Layout& layout) const {
  require(function_.layout(value) == layout, "[", ir::info(inst.op).name, "] ",
          describe(inst.where), ": a tile of ", function_.type(value),
          " does not lie where the instructions of ", target_.cpu,
          " have it; insert_conversions brings what assign_layouts laid out");
}

void Emitter::creation(const Inst& inst) {
  Value result = inst.results[0];
  const Layout& layout = function_.layout(result);
  set(result, inst.op == Op::arange_
                  ? arange(inst, layout)
                  : splat(scalars_[inst.operands[0]], function_.type(result).is_pointer(), layout));
}

Registers Emitter::splat(llvm::Value* value, bool pointer, const Layout& layout) {
  auto count = static_cast<std::size_t>(layout.registers());
  if (pointer) return {layout, std::vector<llvm::Value*>(count, i64(0)), value};
  return {layout, std::vector<llvm::Value*>(count, value), nullptr};
}

Registers Emitter::arange(const Inst& inst, const Layout& layout) {
  Registers result{layout, {}, nullptr};
  std::int64_t start = inst.get<ir::Bounds>().start;
  std::vector<int> first = layout::first_duplicates(layout);
  for (int r = 0; r < layout.registers(); ++r) {
    int same = first[static_cast<std::size_t>(r)];
    result.values.push_back(same < r ? result.values[static_cast<std::size_t>(same)]
                                     : b_.CreateAdd(coordinate_value(layout, 0, r), i32(start)));
  }
  return result;
}

// For each register the first that holds the same: the same element, or one that is equal because
// neighbours are (a mask that ends at a multiple of 8 is computed once for 8 elements).
std::vector<int> Emitter::first_of_equals(Value value, const Layout& layout) const {
  const Shape& groups = axis_info_[value].constancy;
  int varying = -1;  // bits of a register's number that stay within a group of equals
  const auto& bases = layout.bases(In::register_);
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    int axes = 0;
    bool within = true;
    for (int axis = 0; axis < layout.shape().rank(); ++axis) {
      std::int64_t step = bases[bit][static_cast<std::size_t>(axis)], group = groups[axis];
      axes += step != 0 ? 1 : 0;
      bool all = group == function_.type(value).shape[axis];
      within = within && (all || step < (group & -group));
    }
    if (axes == 1 && within) varying &= ~(1 << bit);
  }
  std::vector<int> first = layout::first_duplicates(layout);
  for (int& r : first) r = first[static_cast<std::size_t>(r & varying)];
  return first;
}

void Emitter::elementwise_tile(const Inst& inst) {
  Value result = inst.results[0];
  const Layout& layout = function_.layout(result);
  std::vector<Registers> operands;
  for (Value operand : inst.operands)
    operands.push_back(
        is_tile(operand) ? get(operand)
                         : splat(scalars_[operand], function_.type(operand).is_pointer(), layout));
  Registers out{layout, {}, nullptr};
  bool pointer = function_.type(result).is_pointer();
  require(!pointer || inst.op == Op::offset_, "[", ir::info(inst.op).name, "] ",
          describe(inst.where), ": tiles of pointers only move by offsets");
  if (pointer) out.base = operands[0].base;
  std::vector<int> first = first_of_equals(result, layout);
  for (std::size_t r = 0; r < first.size(); ++r) {
    auto same = static_cast<std::size_t>(first[r]);
    if (same < r) {
      out.values.push_back(out.values[same]);
      continue;
    }
    std::vector<llvm::Value*> elements;
    for (const Registers& operand : operands) elements.push_back(operand.values[r]);
    if (pointer) {
      DType by = function_.type(inst.operands[1]).dtype;
      out.values.push_back(b_.CreateAdd(elements[0], convert(elements[1], by, DType::i64)));
    } else if (inst.op == Op::bitcast_ && operands[0].base != nullptr) {
      auto* bytes = b_.CreateMul(elements[0], b_.getInt64(static_cast<std::uint64_t>(size_bytes(
                                                  function_.type(inst.operands[0]).dtype))));
      out.values.push_back(
          b_.CreateAdd(b_.CreatePtrToInt(operands[0].base, b_.getInt64Ty()), bytes));
    } else {
      out.values.push_back(element(inst, elements));
    }
  }
  set(result, std::move(out));
}

void Emitter::shape_op(const Inst& inst) {
  Value operand = inst.operands[0], result = inst.results[0];
  const ir::Type &from = function_.type(operand), &to = function_.type(result);
  if (!is_tile(result)) {  // a tile of one element becomes a scalar
    if (!is_tile(operand)) {
      scalars_[result] = scalars_[operand];
      return;
    }
    const Registers& registers = get(operand);
    scalars_[result] = registers.base == nullptr
                           ? registers.values[0]
                           : address(registers.base, to.dtype, registers.values[0]);
    return;
  }
  const Layout& layout = function_.layout(result);
  if (!is_tile(operand)) return set(result, splat(scalars_[operand], from.is_pointer(), layout));
  if (inst.op == Op::convert_layout_)
    return set(result, convert_layout(inst, get(operand), from, layout));
  if (ir::shape_source(function_, inst, layout)) {  // which is where the operand lies
    Registers registers = get(operand);
    registers.layout = layout;
    return set(result, std::move(registers));
  }
  require(from.is_value(), "[reshape] ", describe(inst.where),
          ": a tile of pointers cannot be reshaped on a GPU; reshape the offsets");
  set(result, through_shared(inst, get(operand), from, layout,
                             [&](int r) { return place_in(layout, to.shape, r); }));
}

// The XOR of a term for each bit of the thread's number that is set; null for 0. It is computed
// once for a kernel, at its start. Runs of bits that keep their order become a mask and a shift.
llvm::Value* Emitter::linear_in_thread(const std::vector<std::int64_t>& lane_terms,
                                       const std::vector<std::int64_t>& warp_terms) {
  // Where sums fill the registers nothing is kept for later: it is computed again at each use.
  if (roles_) return made_linear_in_thread(lane_terms, warp_terms);
  auto [known, is_new] = linear_.try_emplace(std::pair(lane_terms, warp_terms), nullptr);
  if (is_new) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(llvm::cast<llvm::Instruction>(shared_base_));
    known->second = made_linear_in_thread(lane_terms, warp_terms);
  }
  return known->second;
}

llvm::Value* Emitter::made_linear_in_thread(const std::vector<std::int64_t>& lane_terms,
                                            const std::vector<std::int64_t>& warp_terms) {
  llvm::Value* result = nullptr;
  auto add = [&](llvm::Value* part) {
    result = result == nullptr ? part : b_.CreateXor(result, part);
  };
  for (In in : {In::lane, In::warp}) {
    llvm::Value* number = in == In::lane ? lane_ : warp_;
    const auto& terms = in == In::lane ? lane_terms : warp_terms;
    for (std::size_t bit = 0; bit < terms.size();) {
      std::int64_t term = terms[bit];
      std::size_t end = bit + 1;
      if (term == 0) {
        ++bit;
        continue;
      }
      bool one_bit = (term & (term - 1)) == 0;
      while (one_bit && end < terms.size() && terms[end] == term << (end - bit)) ++end;
      auto mask = ((std::int64_t{1} << end) - 1) & ~((std::int64_t{1} << bit) - 1);
      llvm::Value* part = b_.CreateAnd(number, i32(mask));
      if (one_bit) {
        int shift = std::countr_zero(static_cast<std::uint64_t>(term)) - static_cast<int>(bit);
        add(shift >= 0 ? b_.CreateShl(part, i32(shift)) : b_.CreateLShr(part, i32(-shift)));
      } else {
        add(b_.CreateSelect(b_.CreateICmpNE(part, i32(0)), i32(term), i32(0)));
      }
      bit = end;
    }
  }
  return result;
}

std::int64_t Emitter::bits_of(const std::vector<std::int64_t>& lane_terms,
                              const std::vector<std::int64_t>& warp_terms) {
  std::int64_t bits = 0;
  for (const auto* terms : {&lane_terms, &warp_terms})
    for (std::int64_t term : *terms) bits |= term;
  return bits;
}

Emitter::Coordinate Emitter::coordinate(const Layout& layout, int axis, int reg) {
  auto at = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> terms[2];
  for (In in : {In::lane, In::warp})
    for (const Layout::Basis& basis : layout.bases(in))
      terms[in == In::lane ? 0 : 1].push_back(basis[at]);
  std::int32_t constant = layout.at(reg, 0, 0)[at];
  bool apart = (bits_of(terms[0], terms[1]) & constant) == 0;
  return {linear_in_thread(terms[0], terms[1]), constant, apart};
}

llvm::Value* Emitter::coordinate_value(const Layout& layout, int axis, int reg) {
  Coordinate place = coordinate(layout, axis, reg);
  if (place.thread == nullptr) return i32(place.constant);
  if (place.constant == 0) return place.thread;
  if (place.apart) return b_.CreateAdd(place.thread, i32(place.constant), "", true, true);
  return b_.CreateXor(place.thread, i32(place.constant));
}

llvm::Value* Emitter::inside(const Layout& layout, const Shape& logical, int reg, int axis) {
  if (layout.shape()[axis] == logical[axis]) return nullptr;
  return b_.CreateICmpULT(coordinate_value(layout, axis, reg), i32(logical[axis]));
}

llvm::Value* Emitter::inside(const Layout& layout, const Shape& logical, int reg) {
  llvm::Value* result = nullptr;
  for (int axis = 0; axis < logical.rank(); ++axis)
    result = both(result, inside(layout, logical, reg, axis));
  return result;
}

llvm::Value* Emitter::owns(const Layout& layout) {
  std::uint32_t lane_bits = layout.redundant_bits(In::lane);
  std::uint32_t warp_bits = layout.redundant_bits(In::warp);
  if (lane_bits == 0 && warp_bits == 0) return nullptr;
  return once({lane_bits, warp_bits}, [&] {
    llvm::Value* result = nullptr;
    if (lane_bits != 0) result = b_.CreateICmpEQ(b_.CreateAnd(lane_, i32(lane_bits)), i32(0));
    if (warp_bits == 0) return result;
    return both(result, b_.CreateICmpEQ(b_.CreateAnd(warp_, i32(warp_bits)), i32(0)));
  });
}

llvm::Value* Emitter::first_thread() {
  constexpr std::uint32_t all = ~0U;
  return once({all, all}, [&] { return b_.CreateICmpEQ(b_.CreateOr(lane_, warp_), i32(0)); });
}

// With roles nothing is kept for later, as in linear_in_thread.
llvm::Value* Emitter::once(std::pair<std::uint32_t, std::uint32_t> zero_bits,
                           const std::function<llvm::Value*()>& make) {
  if (roles_) return make();
  auto [known, is_new] = conditions_.try_emplace(zero_bits, nullptr);
  if (is_new) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(llvm::cast<llvm::Instruction>(shared_base_));
    known->second = make();
  }
  return known->second;
}

llvm::Value* Emitter::both(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return b_.CreateAnd(a, b);
}

}  // namespace tilewright::dsl::gpu
