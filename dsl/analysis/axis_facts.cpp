#include "dsl/analysis/axis_facts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "dsl/ir/immediates.h"

namespace tilewright::dsl {

using ir::Op;

namespace {

constexpr std::int64_t largest_divisor = std::int64_t{1} << 30;

// The axes of facts: a scalar counts as one axis of size 1.
Shape axes_of(const ir::Type& type) { return type.is_scalar() ? Shape{1} : type.shape; }

// Groups that lie within groups of both sizes.
std::int64_t common_groups(std::int64_t a, std::int64_t b, std::int64_t size) {
  if (a >= size) return std::min(b, size);
  if (b >= size) return a;
  return std::gcd(a, b);
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  return a >= largest_divisor / b ? largest_divisor : a * b;
}

// The divisor of the elements whose index along the axis is a multiple of `step`.
std::int64_t divisor_at(const AxisFacts& x, int axis, std::int64_t step, std::int64_t size) {
  std::int64_t run = x.info.contiguity[axis], divisor = x.info.divisibility[axis];
  if (run == 1 || step % run == 0 || step >= size) return divisor;
  if (run % step == 0 || run >= size) return std::gcd(divisor, step);
  return 1;
}

// Calls `f(axis, size)` for each axis of the facts of a type.
template <typename F>
void for_each_axis(const ir::Type& type, F f) {
  Shape axes = axes_of(type);
  for (int axis = 0; axis < axes.rank(); ++axis) f(axis, axes[axis]);
}

void keep_common_constancy(AxisFacts& result, const ir::Type& type,
                           const std::vector<AxisFacts>& operands) {
  for_each_axis(type, [&](int axis, std::int64_t size) {
    std::int64_t constancy = size;
    for (const AxisFacts& x : operands)
      constancy = common_groups(constancy, x.info.constancy[axis], size);
    result.info.constancy[axis] = constancy;
  });
}

// One elementwise operation on integers or pointers.
struct Arithmetic {
  const ir::Inst& inst;
  const ir::Type& type;
  const std::vector<AxisFacts>& in;
  AxisFacts result;

  bool is_op(Op op) const { return inst.op == op; }

  void all_divisible_by(std::int64_t divisor) {
    for (std::int64_t& d : result.info.divisibility) d = divisor;
  }
  std::int64_t common_divisor() const {
    std::int64_t divisor = 0;
    for (const AxisFacts& x : in) divisor = std::gcd(divisor, divisor_of_all(x));
    return std::max<std::int64_t>(divisor, 1);
  }

  // a + b, a - b: a run plus a constant is a run.
  void sum(bool both_ways) {
    for_each_axis(type, [&](int axis, std::int64_t size) {
      std::int64_t run =
          common_groups(in[0].info.contiguity[axis], in[1].info.constancy[axis], size);
      if (both_ways)
        run = std::max(
            run, common_groups(in[1].info.contiguity[axis], in[0].info.constancy[axis], size));
      result.info.contiguity[axis] = run;
      result.info.divisibility[axis] =
          std::gcd(divisor_at(in[0], axis, run, size), divisor_at(in[1], axis, run, size));
    });
    result.not_negative = both_ways && in[0].not_negative && in[1].not_negative;
  }

  // Copies what is known of an operand: x * 1, x / 1, x << 0.
  void same_as(const AxisFacts& x) {
    result.info.contiguity = x.info.contiguity;
    result.info.divisibility = x.info.divisibility;
    result.not_negative = x.not_negative;
  }

  void times(const AxisFacts& x, std::int64_t divisor) {
    all_divisible_by(product(divisor_of_all(x), divisor));
  }

  // The size of groups along an axis in which a run of x stays between two multiples of `by`: the
  // first element of a group is divisible by the size, and so is `by`. The axis may end before.
  std::int64_t aligned_run(const AxisFacts& x, int axis, std::int64_t size, std::int64_t by) const {
    std::int64_t known = x.info.contiguity[axis];
    if (known == 1) return 1;
    std::int64_t run = std::gcd(power_of_two_in(by), x.info.divisibility[axis]);
    return known < size ? std::gcd(run, known) : std::min(run, size);
  }

  void quotient(std::int64_t by, bool rounds_down) {
    const AxisFacts& x = in[0];
    if (by == 1) return same_as(x);
    result.not_negative = x.not_negative && by > 0;
    std::int64_t divisor = divisor_of_all(x);
    all_divisible_by(by > 0 && divisor % by == 0 ? divisor / by : 1);
    if (by <= 0 || !(rounds_down || x.not_negative)) return;
    for_each_axis(type, [&](int axis, std::int64_t size) {
      std::int64_t run = aligned_run(x, axis, size, by);
      result.info.constancy[axis] = std::max(result.info.constancy[axis], run);
    });
  }

  void remainder(std::int64_t by, bool rounds_down) {
    const AxisFacts& x = in[0];
    result.not_negative = (x.not_negative || rounds_down) && by > 0;
    all_divisible_by(std::gcd(divisor_of_all(x), power_of_two_in(by)));
    if (by <= 0 || !(rounds_down || x.not_negative)) return;
    for_each_axis(type, [&](int axis, std::int64_t size) {
      std::int64_t run = aligned_run(x, axis, size, by);
      if (run == 1) return;
      result.info.contiguity[axis] = run;
      result.info.divisibility[axis] =
          std::gcd(divisor_at(x, axis, run, size), power_of_two_in(by));
    });
  }

  // x < n and x >= n have one answer in an aligned run if n is aligned alike.
  void bound(const AxisFacts& x, const AxisFacts& n) {
    for_each_axis(type, [&](int axis, std::int64_t size) {
      std::int64_t by = divisor_of_all(n);
      std::int64_t run = aligned_run(x, axis, size, by);
      run = common_groups(run, n.info.constancy[axis], size);
      result.info.constancy[axis] = std::max(result.info.constancy[axis], run);
    });
  }

  void chosen() {
    AxisFacts either = join(type, in[1], in[2]);
    for_each_axis(type, [&](int axis, std::int64_t size) {
      std::int64_t run =
          common_groups(either.info.contiguity[axis], in[0].info.constancy[axis], size);
      result.info.contiguity[axis] = run;
      result.info.divisibility[axis] = divisor_at(either, axis, run, size);
    });
    result.info.constant = either.info.constant;
    result.not_negative = either.not_negative;
  }

  void masked() {
    for (int side : {0, 1}) {
      auto mask = in[static_cast<std::size_t>(side)].info.constant;
      if (!mask || *mask < 0 || *mask == INT64_MAX || (*mask & (*mask + 1)) != 0) continue;
      if (side == 0) return;  // folded programs have constants on the right
      return remainder(*mask + 1, true);
    }
    all_divisible_by(std::max(divisor_of_all(in[0]), divisor_of_all(in[1])));
    result.not_negative = in[0].not_negative || in[1].not_negative;
  }

  void by_constant() {
    auto by = in[1].info.constant;
    if (is_op(Op::mul_)) {
      if (by == 1) return same_as(in[0]);
      if (in[0].info.constant == 1) return same_as(in[1]);
      times(in[0], divisor_of_all(in[1]));
      result.not_negative = in[0].not_negative && in[1].not_negative;
    } else if (is_op(Op::shl_)) {
      if (by == 0) return same_as(in[0]);
      if (by && *by > 0 && *by < 30) times(in[0], std::int64_t{1} << *by);
    } else if (by) {
      if (is_op(Op::shr_) && *by >= 0 && *by < 62) quotient(std::int64_t{1} << *by, true);
      if (is_op(Op::div_)) quotient(*by, false);
      if (is_op(Op::rem_)) remainder(*by, false);
    }
  }
};

bool keeps_runs(DType from, DType to) {
  if (from == to) return true;
  bool wider = bit_width(to) > bit_width(from);
  return wider && (is_signed(to) || !is_signed(from));
}

// A cast to a type that does not hold all values may wrap, which breaks runs but, at powers of two,
// not divisibility.
void convert(Arithmetic& work, DType from, DType to) {
  const AxisFacts& x = work.in[0];
  if (is_boolean(from) || is_boolean(to)) return;
  bool fits = x.not_negative && is_signed(from) && bit_width(to) >= bit_width(from);
  if (keeps_runs(from, to) || fits) return work.same_as(x);
  work.all_divisible_by(
      std::min(divisor_of_all(x), std::int64_t{1} << std::min(30, bit_width(to) - 1)));
}

std::optional<std::int64_t> evaluated(const ir::Inst& inst, DType operand, DType result,
                                      const std::vector<AxisFacts>& in) {
  if (inst.op == Op::offset_ || inst.op == Op::select_) return std::nullopt;
  std::vector<ir::Scalar> numbers;
  for (const AxisFacts& x : in) {
    if (!x.info.constant) return std::nullopt;
    numbers.push_back(ir::Scalar::of_integer(operand, *x.info.constant));
  }
  return ir::evaluate(inst.op, numbers, result).integer;
}

}  // namespace

std::int64_t power_of_two_in(std::int64_t value) {
  if (value == 0) return largest_divisor;
  auto bits = static_cast<std::uint64_t>(value);  // of the least number too, which has no opposite
  std::uint64_t lowest = bits & (~bits + 1);
  return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(largest_divisor), lowest));
}

AxisFacts unknown_facts(const ir::Type& type) {
  Shape ones(axes_of(type).size(), 1);
  return {{ones, ones, ones, std::nullopt},
          type.is_value() && kind_of(type.dtype) == DTypeKind::unsigned_integer};
}

AxisFacts uniform_facts(const ir::Type& type, const AxisFacts& scalar) {
  AxisFacts facts = unknown_facts(type);
  facts.info.constancy = axes_of(type);
  for (std::int64_t& d : facts.info.divisibility) d = divisor_of_all(scalar);
  facts.info.constant = scalar.info.constant;
  facts.not_negative = scalar.not_negative;
  return facts;
}

AxisFacts constant_facts(const ir::Type& type, std::int64_t value) {
  AxisFacts facts = unknown_facts(type);
  facts.info.constancy = axes_of(type);
  for (std::int64_t& d : facts.info.divisibility) d = power_of_two_in(value);
  facts.info.constant = value;
  facts.not_negative = value >= 0;
  return facts;
}

std::int64_t divisor_of_all(const AxisFacts& facts) {
  std::int64_t best = 1;
  for (int axis = 0; axis < facts.info.contiguity.rank(); ++axis)
    if (facts.info.contiguity[axis] == 1) best = std::max(best, facts.info.divisibility[axis]);
  return best;
}

AxisFacts join(const ir::Type& type, const AxisFacts& a, const AxisFacts& b) {
  AxisFacts facts = unknown_facts(type);
  for_each_axis(type, [&](int axis, std::int64_t size) {
    std::int64_t run = common_groups(a.info.contiguity[axis], b.info.contiguity[axis], size);
    facts.info.contiguity[axis] = run;
    facts.info.constancy[axis] =
        common_groups(a.info.constancy[axis], b.info.constancy[axis], size);
    facts.info.divisibility[axis] =
        std::gcd(divisor_at(a, axis, run, size), divisor_at(b, axis, run, size));
  });
  if (a.info.constant == b.info.constant) facts.info.constant = a.info.constant;
  facts.not_negative = a.not_negative && b.not_negative;
  return facts;
}

AxisFacts elementwise_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                            const std::vector<AxisFacts>& operands) {
  if (inst.op == Op::inline_asm_) return unknown_facts(type);
  Arithmetic work{inst, type, operands, unknown_facts(type)};
  keep_common_constancy(work.result, type, operands);
  bool counts = type.is_pointer() || !is_floating(type.dtype);
  if (!counts || (operand.is_value() && is_floating(operand.dtype))) return work.result;
  if (auto value = evaluated(inst, operand.dtype, type.dtype, operands))
    return constant_facts(type, *value);
  if (work.is_op(Op::add_) || work.is_op(Op::offset_)) work.sum(true);
  if (work.is_op(Op::sub_)) work.sum(false);
  if (work.is_op(Op::select_)) work.chosen();
  if (work.is_op(Op::and_)) work.masked();
  if (work.is_op(Op::cast_)) convert(work, operand.dtype, type.dtype);
  if (work.is_op(Op::lt_) || work.is_op(Op::ge_)) work.bound(operands[0], operands[1]);
  if (work.is_op(Op::gt_) || work.is_op(Op::le_)) work.bound(operands[1], operands[0]);
  if (work.is_op(Op::min_) || work.is_op(Op::max_) || work.is_op(Op::or_) || work.is_op(Op::xor_) ||
      work.is_op(Op::neg_) || work.is_op(Op::abs_))
    work.all_divisible_by(work.common_divisor());
  if (operands.size() == 2) work.by_constant();
  return work.result;
}

AxisFacts shape_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                      const AxisFacts& x) {
  if (inst.op == Op::convert_layout_) return x;
  if (operand.is_scalar() || x.info.constant) return uniform_facts(type, x);
  AxisFacts facts = unknown_facts(type);
  facts.not_negative = x.not_negative;
  auto copy = [&](int to, int from) {
    facts.info.contiguity[to] = x.info.contiguity[from];
    facts.info.constancy[to] = x.info.constancy[from];
    facts.info.divisibility[to] = x.info.divisibility[from];
  };
  auto all = [&](int to) { facts.info.divisibility[to] = divisor_of_all(x); };
  if (inst.op == Op::permute_) {
    const auto& dims = inst.get<ir::Permutation>().dims;
    for (std::size_t i = 0; i < dims.size(); ++i) copy(static_cast<int>(i), dims[i]);
  } else if (inst.op == Op::broadcast_) {
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      copy(axis, axis);
      if (operand.shape[axis] != type.shape[axis]) facts.info.constancy[axis] = type.shape[axis];
    }
  } else {
    // expand_dims, and a reshape as far as it only adds or drops axes of size 1.
    int from = 0, rank = operand.shape.rank();
    auto skip = [&] {
      while (from < rank && operand.shape[from] == 1) ++from;
    };
    skip();
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      bool same = type.shape[axis] != 1 && from < rank && operand.shape[from] == type.shape[axis];
      if (type.shape[axis] != 1 && !same) from = rank;
      same ? copy(axis, from++) : all(axis);
      skip();
    }
  }
  return facts;
}

}  // namespace tilewright::dsl
