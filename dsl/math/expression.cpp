#include "dsl/math/expression.h"

#include "dsl/ir/type_rules.h"

namespace tilewright::dsl::math {

using ir::Op;

ir::Value InsertionPoint::append(Op op, std::vector<ir::Value> operands, ir::Immediate immediate) {
  std::vector<ir::Type> types;
  for (ir::Value operand : operands) types.push_back(function.type(operand));
  ir::Type result = ir::result_types(op, types, immediate).front();
  ir::Value value = function.new_value(std::move(result));
  code.push_back({op, std::move(operands), {value}, std::move(immediate), {}, where});
  return value;
}

namespace {

Expression spread(InsertionPoint& site, ir::Scalar scalar) {
  ir::Value value = site.append(Op::constant_, {}, scalar);
  if (!site.shape.empty()) value = site.append(Op::splat_, {value}, ir::Extent{site.shape});
  return {site, value};
}

}  // namespace

Expression number(InsertionPoint& site, DType dtype, double value) {
  return spread(site, ir::Scalar::of(dtype, value));
}

Expression integer_like(const Expression& like, std::int64_t value) {
  return spread(like.site(), ir::Scalar::of_integer(like.dtype(), value));
}

Expression apply(Op op, const Expression& x) {
  return {x.site(), x.site().append(op, {x.value()})};
}

Expression apply(Op op, const Expression& a, const Term& b) {
  return {a.site(), a.site().append(op, {a.value(), b.like(a).value()})};
}

Expression operator+(const Expression& a, const Term& b) { return apply(Op::add_, a, b); }
Expression operator-(const Expression& a, const Term& b) { return apply(Op::sub_, a, b); }
Expression operator*(const Expression& a, const Term& b) { return apply(Op::mul_, a, b); }
Expression operator/(const Term& a, const Expression& b) { return apply(Op::div_, a.like(b), b); }
Expression operator<(const Expression& a, const Term& b) { return apply(Op::lt_, a, b); }
Expression operator>(const Expression& a, const Term& b) { return apply(Op::gt_, a, b); }
Expression operator<<(const Expression& a, int by) {
  return apply(Op::shl_, a, integer_like(a, by));
}
Expression operator>>(const Expression& a, int by) {
  return apply(Op::shr_, a, integer_like(a, by));
}
Expression operator&(const Expression& a, std::int64_t bits) {
  return apply(Op::and_, a, integer_like(a, bits));
}
Expression operator^(const Expression& a, const Expression& b) { return apply(Op::xor_, a, b); }

Expression fma(const Expression& a, const Term& b, const Term& c) {
  return {a.site(), a.site().append(Op::fma_, {a.value(), b.like(a).value(), c.like(a).value()})};
}

Expression choose(const Expression& condition, const Expression& a, const Term& b) {
  InsertionPoint& site = a.site();
  return {site, site.append(Op::select_, {condition.value(), a.value(), b.like(a).value()})};
}

Expression choose(const Expression& condition, double a, const Expression& b) {
  return choose(condition, number(b.site(), b.dtype(), a), b);
}

Expression cast(const Expression& x, DType dtype) {
  return {x.site(), x.site().append(Op::cast_, {x.value()}, dtype)};
}

Expression bitcast(const Expression& x, DType dtype) {
  return {x.site(), x.site().append(Op::bitcast_, {x.value()}, dtype)};
}

Expression polynomial(const Expression& x, std::initializer_list<double> coefficients) {
  auto next = std::rbegin(coefficients);
  Expression sum = number(x.site(), x.dtype(), *next++);
  for (; next != std::rend(coefficients); ++next) sum = fma(sum, x, *next);
  return sum;
}

}  // namespace tilewright::dsl::math
