#include "graph/ops/pointwise.h"

#include <cmath>
#include <numbers>

#include "dsl/ir/immediates.h"

namespace tilewright::graph {

namespace rules {

namespace {

void need_equal_types(const Application& a) {
  a.need_equal_dtypes();
  for (std::size_t i = 1; i < a.count(); ++i)
    a.need(a.shape(i) == a.shape(0), "shapes differ: operand 0 is ", a.shape(0), ", operand ", i,
           " is ", a.shape(i), "; they must be equal or broadcast to one shape");
}

}  // namespace

ValueType same(const Application& a) {
  need_equal_types(a);
  a.need(!is_boolean(a.dtype_of(0)),
         "the operand is bool; arithmetic needs numbers: convert with to(i32)");
  a.need_arithmetic(0);
  return a.operands[0];
}
ValueType same_or_boolean(const Application& a) {
  need_equal_types(a);
  a.need_arithmetic(0);
  return a.operands[0];
}
ValueType same_floating(const Application& a) {
  need_equal_types(a);
  a.need_floating(0);
  return a.operands[0];
}
ValueType same_boolean(const Application& a) {
  need_equal_types(a);
  a.need(is_boolean(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be bool: compare them with 0 first");
  return a.operands[0];
}
ValueType same_integer(const Application& a) {
  need_equal_types(a);
  a.need(is_integer(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be of an integer type");
  return a.operands[0];
}
ValueType same_long(const Application& a) {
  need_equal_types(a);
  a.need(a.dtype_of(0) == DType::i64, "the operands are ", a.dtype_of(0), "; they must be i64");
  return a.operands[0];
}
ValueType same_bits(const Application& a) {
  need_equal_types(a);
  a.need(!is_floating(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be of an integer type or bool");
  return a.operands[0];
}
ValueType cast(const Application& a) {
  a.need(a.dtype.has_value(), "has no dtype; one must be given");
  return {*a.dtype, a.shape(0)};
}
ValueType compare(const Application& a) {
  need_equal_types(a);
  a.need_arithmetic(0);
  return {DType::boolean, a.shape(0)};
}
ValueType where(const Application& a) {
  a.need(is_boolean(a.dtype_of(0)), "the condition is ", a.dtype_of(0), "; it must be bool");
  a.need(a.dtype_of(1) == a.dtype_of(2), "the choices are ", a.dtype_of(1), " and ", a.dtype_of(2),
         "; they must have one dtype");
  a.need(a.shape(0) == a.shape(1) && a.shape(1) == a.shape(2), "shapes differ: ", a.shape(0), ", ",
         a.shape(1), " and ", a.shape(2), "; they must be equal or broadcast to one shape");
  return a.operands[1];
}

}  // namespace rules

// Elementwise meaning is the tile op's. In double mode floating operands are f64 ones.
HostTensor pointwise(const Node& node, const Operands& operands, Rounding rounding) {
  auto widen = [&](DType d) {
    return rounding == Rounding::double_ && is_floating(d) ? DType::f64 : d;
  };
  HostTensor result(node.dtype, node.shape);
  std::vector<ir::Scalar> elements(operands.size());
  for (std::int64_t i = 0; i < result.count(); ++i) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      elements[k] = operands[k]->get(i);
      elements[k].dtype = widen(elements[k].dtype);
    }
    result.set(i, ir::evaluate(*info(node.op).tile_op, elements, widen(node.dtype)));
  }
  return result;
}

namespace {

// Near 0 by 2 t / (1 - t) with t = tanh(x / 2), where exp(x) - 1 would cancel.
Term expm1_of_double(const Term& x) {
  constexpr double near = 0.5;
  Term t = unary(Op::tanh, x * 0.5), is_near = compared(Op::lt, unary(Op::abs, x), near);
  return choice(is_near, (t + t) / (t * -1.0 + 1.0), unary(Op::exp, x) + -1.0);
}

// With x = k ln 2 + r, |r| at most half of ln 2, exp(x) - 1 = 2^k (exp(r) - 1) + 2^k - 1, made of
// halves since 2^k may be infinite where the result is not. exp(r) - 1 = r + r^2 p(r), with p by
// Chebyshev within 1.4e-9. Within 1.5 units in the last place.
Term expm1_of_float(const Term& x) {
  constexpr double near = 0.34375, most = 89, least = -25;  // beyond are infinity and -1
  Term below = choice(compared(Op::gt, x, most), x.number(most), x);
  Term bounded = choice(compared(Op::lt, below, least), x.number(least), below);
  Term k = unary(Op::round, bounded * std::numbers::log2e);
  // ln 2 in two parts, the first exact times any k.
  Term reduced = bounded + k * -0.693359375 + k * 2.12194440e-4;
  Term is_near = compared(Op::lt, unary(Op::abs, x), near), r = choice(is_near, x, reduced);
  Term p = x.number(0.000198910171843);
  for (double c : {0.00139336737329, 0.00833331090173, 0.0416664647114, 0.166666666816, 0.5})
    p = p * r + c;
  Term small = r + r * r * p, half = unary(Op::exp2, k + -1.0);
  Term far = half * small + (half + -0.5);
  return choice(compared(Op::eq, x, 0), x, choice(is_near, small, far + far));
}

}  // namespace

Term decomposition(The<Op::expm1>, const Composite& site) {
  Term x = site.wide(0);
  return x.dtype() == DType::f64 ? expm1_of_double(x) : expm1_of_float(x);
}
HostTensor meaning(The<Op::expm1>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return std::expm1(v); });
}

// log(s + c) is log(s) + c / s, where s is 1 + x as it was rounded and c what it lost of x. For
// infinity, and for all numbers so large that 1 is lost, nothing is lost.
Term log_of_one_plus(const Term& x) {
  Term sum = x + 1.0, left = sum + -1.0;
  Term is_whole = left.make(Op::eq, {left.id, x.id});
  Term lost = choice(is_whole, x.number(0), (x - left) / sum);
  return choice(compared(Op::eq, left, 0), x, unary(Op::log, sum) + lost);
}
Term decomposition(The<Op::log1p>, const Composite& site) { return log_of_one_plus(site.wide(0)); }
HostTensor meaning(The<Op::log1p>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return std::log1p(v); });
}

Term decomposition(The<Op::reciprocal>, const Composite& site) { return 1.0 / site.operands[0]; }
Term decomposition(The<Op::square>, const Composite& site) {
  return site.operands[0] * site.operands[0];
}
HostTensor meaning(The<Op::reciprocal>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return 1 / v; });
}
HostTensor meaning(The<Op::square>, const Node& node, const Operands& x) {
  if (is_floating(node.dtype)) return map(node, *x[0], [](double v) { return v * v; });
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[0]->get(i)};
    result.set(i, ir::evaluate(ir::Op::mul_, pair, node.dtype));
  }
  return result;
}

namespace {

// Where the remainder towards 0 is none, or of the divisor's sign, it is the one wanted.
Term is_of_other_sign(const Term& remainder, const Term& divisor) {
  Term differ = compared(Op::lt, remainder, 0);
  differ = differ.make(Op::ne, {differ.id, compared(Op::lt, divisor, 0).id});
  Term some = compared(Op::ne, remainder, 0);
  return some.make(Op::logical_and, {some.id, differ.id});
}

}  // namespace

Term decomposition(The<Op::remainder>, const Composite& site) {
  Term a = site.wide(0), b = site.wide(1);
  Term r = a.make(Op::fmod, {a.id, b.id});
  if (kind_of(r.dtype()) == DTypeKind::unsigned_integer) return r;
  return choice(is_of_other_sign(r, b), r + b, r);
}
HostTensor meaning(The<Op::remainder>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[1]->get(i)};
    if (is_floating(node.dtype)) {
      double b = pair[1].floating, r = std::fmod(pair[0].floating, b);
      result.set_number(i, r != 0 && (r < 0) != (b < 0) ? r + b : r);
    } else {
      ir::Scalar r = ir::evaluate(ir::Op::rem_, pair, node.dtype);
      bool other =
          is_signed(node.dtype) && r.integer != 0 && (r.integer < 0) != (pair[1].integer < 0);
      if (other) r.integer += pair[1].integer;
      result.set(i, r);
    }
  }
  return result;
}

// For floats, the quotient of the divisible part is whole but for rounding; by 0 it is that of the
// division, infinite or NaN. A 0 has the sign of the division's result.
Term decomposition(The<Op::floor_divide>, const Composite& site) {
  Term a = site.wide(0), b = site.wide(1);
  if (kind_of(a.dtype()) == DTypeKind::unsigned_integer) return a / b;
  Term r = a.make(Op::fmod, {a.id, b.id}), other = is_of_other_sign(r, b);
  if (!is_floating(a.dtype())) return choice(other, a / b + -1.0, a / b);
  Term quotient = (a - r) / b;
  quotient = unary(Op::round, choice(other, quotient + -1.0, quotient));
  Term exact = a / b;
  quotient = choice(compared(Op::eq, quotient, 0), exact * 0.0, quotient);
  return choice(compared(Op::eq, b, 0), exact, quotient);
}
HostTensor meaning(The<Op::floor_divide>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[1]->get(i)};
    if (is_floating(node.dtype)) {
      double a = pair[0].floating, b = pair[1].floating, r = std::fmod(a, b);
      if (r != 0 && (r < 0) != (b < 0)) r += b;
      double quotient = std::nearbyint((a - r) / b);
      if (quotient == 0) quotient = std::copysign(quotient, a / b);
      result.set_number(i, b == 0 ? a / b : quotient);
    } else {
      ir::Scalar q = ir::evaluate(ir::Op::div_, pair, node.dtype);
      ir::Scalar r = ir::evaluate(ir::Op::rem_, pair, node.dtype);
      bool other =
          is_signed(node.dtype) && r.integer != 0 && (r.integer < 0) != (pair[1].integer < 0);
      if (other) --q.integer;
      result.set(i, q);
    }
  }
  return result;
}

}  // namespace tilewright::graph
