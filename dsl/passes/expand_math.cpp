// Replaces the elementary functions by arithmetic (dsl/math), so that one definition serves every
// target and can be checked through the interpreter. f16 and bf16 are widened to f32, expanded and
// rounded back. Afterwards no such function is left, but for those of f64 that a host takes
// from the C library, and on a GPU exp2 and rsqrt of f32, which it has instructions for. Results
// may differ from the interpreter's in the last two places; on the host in a part of 2^17 where
// they are rounded to 16 bits (HalfValues).
#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "dsl/math/double_functions.h"
#include "dsl/math/functions.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using math::Expression;

using Formula = Expression (*)(const Expression& x, const math::Form& form);
struct Expansion {
  ir::Op op;
  Formula formula;
};

// For a function that has one form.
template <Expression (*formula)(const Expression& x)>
Expression in_any_form(const Expression& x, const math::Form&) {
  return formula(x);
}

constexpr std::array expansions = {
    Expansion{ir::Op::exp_, math::exp},
    Expansion{ir::Op::exp2_, math::exp2},
    Expansion{ir::Op::log_, in_any_form<math::log>},
    Expansion{ir::Op::log2_, in_any_form<math::log2>},
    Expansion{ir::Op::sin_, in_any_form<math::sin>},
    Expansion{ir::Op::cos_, in_any_form<math::cos>},
    Expansion{ir::Op::tanh_, math::tanh},
    Expansion{ir::Op::erf_, in_any_form<math::erf>},
    Expansion{ir::Op::sigmoid_, math::sigmoid},
    Expansion{ir::Op::rsqrt_, math::rsqrt},
};

constexpr std::array double_expansions = {
    Expansion{ir::Op::exp_, in_any_form<math::wide::exp>},
    Expansion{ir::Op::exp2_, in_any_form<math::wide::exp2>},
    Expansion{ir::Op::log_, in_any_form<math::wide::log>},
    Expansion{ir::Op::log2_, in_any_form<math::wide::log2>},
    Expansion{ir::Op::sin_, in_any_form<math::wide::sin>},
    Expansion{ir::Op::cos_, in_any_form<math::wide::cos>},
    Expansion{ir::Op::tanh_, in_any_form<math::wide::tanh>},
    Expansion{ir::Op::erf_, in_any_form<math::wide::erf>},
    Expansion{ir::Op::sigmoid_, in_any_form<math::wide::sigmoid>},
    Expansion{ir::Op::rsqrt_, math::rsqrt},
};

// On a GPU exp2 and rsqrt of f32 stay.
bool stays_on_gpu(ir::Op op) { return op == ir::Op::exp2_ || op == ir::Op::rsqrt_; }

math::PowerBy power_by(const Target& target) {
  if (target.is_gpu()) return math::PowerBy::exp2;
  return target.has_avx512() ? math::PowerBy::ldexp : math::PowerBy::arithmetic;
}

Formula found(std::span<const Expansion> list, ir::Op op) {
  auto expansion = std::ranges::find(list, op, &Expansion::op);
  return expansion == list.end() ? nullptr : expansion->formula;
}

// Which values are only ever multiplied, divided or, being positive, summed up before they are
// rounded to 16 bits, so that their relative error stays as small as it is.
class HalfValues {
 public:
  explicit HalfValues(const ir::Function& function)
      : function_(function),
        only_half_(function.types.size(), true),
        positive_(function.types.size(), false) {
    ir::for_each_inst(function.body, [&](const ir::Inst& inst) {
      bool positive =
          inst.op == ir::Op::exp_ || inst.op == ir::Op::sigmoid_ ||
          (ir::info(inst.op).op_class == ir::OpClass::shape && positive_[inst.operands[0]]);
      if (positive) positive_[inst.results[0]] = true;
    });
    see(function.body);
  }
  bool contains(ir::Value value) const {
    return is_half(value) || only_half_[static_cast<std::size_t>(value)];
  }

 private:
  bool is_half(ir::Value value) const { return is_float16(function_.type(value).dtype); }
  static bool keeps_relative_error(ir::Op op) {
    return op == ir::Op::mul_ || op == ir::Op::div_ || op == ir::Op::neg_ || op == ir::Op::abs_ ||
           op == ir::Op::splat_ || ir::info(op).op_class == ir::OpClass::shape;
  }
  bool sums_positives(const ir::Inst& inst) const {
    return inst.op == ir::Op::reduce_ && inst.get<ir::Reduction>().kind == ir::ReduceKind::sum &&
           positive_[inst.operands[0]];
  }
  // Backwards, so that what becomes of a result is known before its operands are seen.
  void see(const ir::Block& block) {
    for (auto inst = block.insts.rbegin(); inst != block.insts.rend(); ++inst) {
      for (const ir::Block& body : inst->bodies) see(body);
      bool stays =
          inst->results.size() == 1 &&
          (inst->op == ir::Op::cast_ ? is_half(inst->results[0])
                                     : (keeps_relative_error(inst->op) || sums_positives(*inst)) &&
                                           contains(inst->results[0]));
      if (stays) continue;
      for (ir::Value operand : inst->operands)
        only_half_[static_cast<std::size_t>(operand)] = false;
    }
  }

  const ir::Function& function_;
  std::vector<bool> only_half_, positive_;
};

// Which values are not above zero, since they are x minus the greatest x of the row.
class Differences {
 public:
  explicit Differences(const ir::Function& function) {
    ir::for_each_inst(function.body, [&](const ir::Inst& inst) { see(inst); });
  }
  bool contains(ir::Value value) const { return not_above_zero_.contains(value); }

 private:
  // No element of `of` is greater than the one of the same place but for the axis.
  struct Bound {
    ir::Value of;
    int axis;
    bool has_axis;  // of size one, or spread over all of it
  };
  const Bound* bound(ir::Value value) const {
    auto found = bounds_.find(value);
    return found == bounds_.end() ? nullptr : &found->second;
  }
  void see(const ir::Inst& inst) {
    if (inst.results.size() != 1) return;
    const ir::Value result = inst.results[0];
    if (inst.op == ir::Op::reduce_) {
      if (auto [kind, axis] = inst.get<ir::Reduction>(); kind == ir::ReduceKind::max)
        bounds_[result] = {inst.operands[0], axis, false};
    } else if (inst.op == ir::Op::expand_dims_) {
      if (const Bound* known = bound(inst.operands[0]);
          known != nullptr && !known->has_axis && known->axis == inst.get<ir::Axis>().axis)
        bounds_[result] = {known->of, known->axis, true};
    } else if (inst.op == ir::Op::broadcast_ || inst.op == ir::Op::max_) {
      for (ir::Value operand : inst.operands)
        if (const Bound* known = bound(operand)) bounds_[result] = Bound(*known);
    } else if (inst.op == ir::Op::sub_) {
      if (const Bound* known = bound(inst.operands[1]);
          known != nullptr && known->has_axis && known->of == inst.operands[0])
        not_above_zero_.insert(result);
    }
  }

  std::unordered_map<ir::Value, Bound> bounds_;
  std::unordered_set<ir::Value> not_above_zero_;
};

// The replacement of a function, and its form.
struct Replacement {
  Formula formula = nullptr;  // null: by nothing
  math::Form form;
};

class Expander {
 public:
  Expander(const ir::Function& function, const Target& target)
      : function_(function), target_(target), half_(function), differences_(function) {}

  Replacement of(const ir::Inst& inst) const {
    if (inst.results.empty()) return {};
    DType dtype = function_.type(inst.results[0]).dtype;
    bool gpu = target_.is_gpu();
    if (dtype == DType::f64)
      return {stays_in_double(inst.op) ? nullptr : found(double_expansions, inst.op), {}};
    if (gpu && stays_on_gpu(inst.op) && dtype == DType::f32) return {};
    Formula formula = found(expansions, inst.op);
    if (formula == nullptr) return {};
    return {formula,
            {.power = power_by(target_),
             .for_half = half_.contains(inst.results[0]),
             .below_zero = differences_.contains(inst.operands[0])}};
  }

 private:
  // A host takes from the C library what takes it no longer than a formula for any argument, and
  // all of f64 where it has no fused multiplication, for which each would call that library.
  bool stays_in_double(ir::Op op) const {
    return !target_.is_gpu() && (!target_.has_fma || op == ir::Op::sin_ || op == ir::Op::cos_);
  }

  const ir::Function& function_;
  const Target& target_;
  HalfValues half_;
  Differences differences_;
};

void expand(ir::Function& function, const Replacement& by, const ir::Inst& inst,
            std::vector<ir::Inst>& code) {
  const ir::Type type = function.type(inst.results[0]);
  math::InsertionPoint site{function, code, type.shape, inst.where};
  Expression x{site, inst.operands[0]};
  if (type.dtype == DType::f32 || type.dtype == DType::f64) {
    by.formula(x, by.form);
  } else {
    math::cast(by.formula(math::cast(x, DType::f32), by.form), type.dtype);
  }
  // The last instruction gives the result its old name.
  code.back().results = inst.results;
}

bool expand_block(ir::Function& function, ir::Block& block, const Expander& expander) {
  bool changed = false;
  std::vector<ir::Inst> code;
  for (ir::Inst& inst : block.insts) {
    for (ir::Block& body : inst.bodies) changed |= expand_block(function, body, expander);
    if (Replacement by = expander.of(inst); by.formula != nullptr) {
      expand(function, by, inst, code);
      changed = true;
    } else {
      code.push_back(std::move(inst));
    }
  }
  block.insts = std::move(code);
  return changed;
}

}  // namespace

bool expand_math(ir::Function& function, const Target& target) {
  return expand_block(function, function.body, Expander(function, target));
}

}  // namespace tilewright::dsl
