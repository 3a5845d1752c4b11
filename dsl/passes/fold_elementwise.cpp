// Rules for elementwise operations: constants are evaluated, values that are everywhere equal are
// computed once as scalars, and neutral operands go away.
//
// Floating arithmetic keeps only what holds for every operand: x * 1, x / 1, x - 0 and x + (-0),
// but not x + 0, which turns -0 into 0, nor x * 0, which is NaN for an infinite x.
#include <array>
#include <cmath>

#include "dsl/ir/immediates.h"
#include "dsl/passes/effects.h"
#include "dsl/passes/folding.h"

namespace tilewright::dsl {

using ir::Op;
using ir::Scalar;
using ir::Value;

namespace {

std::optional<Value> fold_constants(Folder& folder, const ir::Inst& inst) {
  if (inst.op == Op::offset_ || inst.op == Op::inline_asm_) return std::nullopt;
  std::vector<Scalar> numbers;
  for (Value operand : inst.operands) {
    auto number = folder.uniform(operand);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const ir::Type& type = folder.type(inst.results[0]);
  return folder.emit_constant(ir::evaluate(inst.op, numbers, type.dtype), type.shape);
}

std::optional<Value> fold_splats(Folder& folder, const ir::Inst& inst) {
  const Shape shape = folder.type(inst.results[0]).shape;
  if (shape.empty() || is_impure_assembly(inst)) return std::nullopt;
  std::vector<Value> scalars;
  for (Value operand : inst.operands) {
    auto scalar = folder.spread(operand);
    if (!scalar) return std::nullopt;
    scalars.push_back(*scalar);
  }
  Value value = folder.emit(inst.op, scalars, inst.immediate);
  return folder.emit(Op::splat_, {value}, ir::Extent{shape});
}

// One instruction of two operands whose second is a number.
struct WithNumber {
  Folder& folder;
  const ir::Inst& inst;
  Value x;
  Scalar number;

  bool floating() const { return is_floating(number.dtype); }
  bool is(std::int64_t value) const { return number == Scalar::of_integer(number.dtype, value); }
  std::optional<Value> constant(std::int64_t value) const {
    const ir::Type& type = folder.type(inst.results[0]);
    return folder.emit_constant(Scalar::of_integer(type.dtype, value), type.shape);
  }
  bool is_op(Op op) const { return inst.op == op; }

  // (y + c) + d is y + (c + d), and likewise for *, on integers, which wrap.
  std::optional<Value> reassociated() const {
    if (floating() || !(is_op(Op::add_) || is_op(Op::mul_))) return std::nullopt;
    const Folder::Definition* inner = folder.definition(x, inst.op);
    if (inner == nullptr) return std::nullopt;
    Value y = inner->operands[0];
    auto other = folder.uniform(inner->operands[1]);
    if (!other) {
      y = inner->operands[1];
      other = folder.uniform(inner->operands[0]);
    }
    if (!other) return std::nullopt;
    Scalar both = ir::evaluate(inst.op, std::array{*other, number}, number.dtype);
    Op op = inst.op;
    return folder.emit(op, {y, folder.emit_constant(both, folder.type(x).shape)});
  }

  std::optional<Value> neutral() const {
    if (is_op(Op::offset_) && is(0)) return x;
    if ((is_op(Op::mul_) || is_op(Op::div_)) && is(1)) return x;
    if (is_op(Op::sub_) && is(0)) return x;
    if (floating()) {
      bool minus_zero = number.floating == 0 && std::signbit(number.floating);
      return is_op(Op::add_) && minus_zero ? std::optional(x) : std::nullopt;
    }
    bool zero_is_neutral =
        is_op(Op::add_) || is_op(Op::or_) || is_op(Op::xor_) || is_op(Op::shl_) || is_op(Op::shr_);
    if (is(0) && zero_is_neutral) return x;
    if (is(0) && (is_op(Op::mul_) || is_op(Op::and_))) return constant(0);
    if (is_op(Op::rem_) && is(1)) return constant(0);
    if (is(-1) && is_op(Op::and_)) return x;
    if (is(-1) && is_op(Op::or_)) return constant(-1);
    if (is_boolean(number.dtype) && ((is_op(Op::eq_) && is(1)) || (is_op(Op::ne_) && is(0))))
      return x;
    return std::nullopt;
  }
};

std::optional<Value> fold_number(Folder& folder, const ir::Inst& inst) {
  if (inst.operands.size() != 2) return std::nullopt;
  Value a = inst.operands[0], b = inst.operands[1];
  auto number = folder.uniform(b);
  if (!number && ir::info(inst.op).has(ir::commutative)) {
    std::swap(a, b);
    number = folder.uniform(b);
  }
  if (!number) return std::nullopt;
  WithNumber site{folder, inst, a, *number};
  if (auto value = site.neutral()) return value;
  return site.reassociated();
}

std::optional<Value> fold_equal_operands(Folder& folder, const ir::Inst& inst) {
  if (inst.operands.size() != 2 || inst.operands[0] != inst.operands[1]) return std::nullopt;
  Value x = inst.operands[0];
  auto is_op = [&](Op op) { return inst.op == op; };
  if (is_op(Op::min_) || is_op(Op::max_) || is_op(Op::and_) || is_op(Op::or_)) return x;
  if (is_floating(folder.type(x).dtype)) return std::nullopt;  // NaN differs from itself
  bool zero =
      is_op(Op::sub_) || is_op(Op::xor_) || is_op(Op::ne_) || is_op(Op::lt_) || is_op(Op::gt_);
  bool one = is_op(Op::eq_) || is_op(Op::le_) || is_op(Op::ge_);
  if (!zero && !one) return std::nullopt;
  const ir::Type& type = folder.type(inst.results[0]);
  return folder.emit_constant(Scalar::of_integer(type.dtype, one ? 1 : 0), type.shape);
}

std::optional<Value> fold_select(Folder& folder, const ir::Inst& inst) {
  if (inst.op != Op::select_) return std::nullopt;
  Value condition = inst.operands[0], a = inst.operands[1], b = inst.operands[2];
  if (a == b) return a;
  if (auto known = folder.uniform(condition)) return known->integer != 0 ? a : b;
  auto x = folder.uniform(a), y = folder.uniform(b);
  if (x && y && *x == *y) return a;
  if (x && y && is_boolean(x->dtype) && x->integer == 1) return condition;
  return std::nullopt;
}

// True if every value of `from` is one of `to`.
bool is_exact(DType from, DType to) {
  if (from == to || is_boolean(from)) return true;
  if (is_boolean(to)) return false;
  if (is_floating(from))
    return is_floating(to) && bit_width(to) > bit_width(from);  // all bits of range too
  if (is_signed(from) && !is_signed(to) && !is_floating(to)) return false;
  return digits(from) <= digits(to);
}

std::optional<Value> fold_conversion(Folder& folder, const ir::Inst& inst) {
  if (inst.op != Op::cast_ && inst.op != Op::bitcast_) return std::nullopt;
  Value x = inst.operands[0];
  if (folder.type(x).dtype == inst.get<DType>()) return x;
  const Folder::Definition* inner = folder.definition(x, inst.op);
  if (inner == nullptr) return std::nullopt;
  Value y = inner->operands[0];
  DType first = folder.type(y).dtype, middle = folder.type(x).dtype, last = inst.get<DType>();
  if (inst.op == Op::cast_) {
    if (!is_exact(first, middle)) return std::nullopt;
    // From floating a cast saturates, from an integer it wraps: the middle decides which.
    bool differs = !is_floating(first) && is_floating(middle) && is_integer(last);
    if (differs && !is_exact(first, last)) return std::nullopt;
  }
  return folder.emit(inst.op, {y}, last);
}

std::optional<Value> fold_involution(Folder& folder, const ir::Inst& inst) {
  if (inst.op != Op::not_ && inst.op != Op::neg_) return std::nullopt;
  const Folder::Definition* inner = folder.definition(inst.operands[0], inst.op);
  return inner == nullptr ? std::nullopt : std::optional(inner->operands[0]);
}

}  // namespace

std::optional<Value> fold_elementwise(Folder& folder, const ir::Inst& inst) {
  for (auto* rule : {fold_constants, fold_select, fold_conversion, fold_involution, fold_number,
                     fold_equal_operands, fold_splats})
    if (auto value = rule(folder, inst)) return value;
  return std::nullopt;
}

}  // namespace tilewright::dsl
