// The vocabulary of functions composed of pointwise ops: terms of one shape, with the line of the
// user's call, so that a function reads as its formula.
//
// Apart from tensor.h, whose operators broadcast and promote at each step and would name our lines
// in messages. Here that is settled once, when the operands of a function become terms
// (`Terms`); from then on every op is applied to terms of one shape and dtype, in a capture or
// at once.
#pragma once

#include <functional>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class Formula {
 public:
  Formula(Tensor tensor, std::source_location where) : tensor_(std::move(tensor)), where_(where) {}

  const Tensor& tensor() const { return tensor_; }
  std::source_location where() const { return where_; }
  DType dtype() const { return tensor_.dtype(); }
  bool is_floating() const { return tilewright::is_floating(dtype()); }

  // A number in this term's dtype and shape; an integer that the dtype lacks wraps.
  Formula number(const Number& value) const;
  Formula to(DType dtype) const { return {tensor_.to(dtype, where_), where_}; }
  Formula make(Op op) const;
  Formula make(Op op, const Formula& b) const;
  Formula make(Op op, const Formula& b, const Formula& c) const;

 private:
  Tensor tensor_;
  std::source_location where_;
};

// Terms of one dtype, or a number in the other one's.
#define TILEWRIGHT_TERM(symbol, op)                                                                \
  inline Formula operator symbol(const Formula& a, const Formula& b) { return a.make(Op::op, b); } \
  inline Formula operator symbol(const Formula& a, double b) { return a symbol a.number(b); }      \
  inline Formula operator symbol(double a, const Formula& b) { return b.number(a) symbol b; }
TILEWRIGHT_TERM(+, add)
TILEWRIGHT_TERM(-, sub)
TILEWRIGHT_TERM(*, mul)
TILEWRIGHT_TERM(/, div)
TILEWRIGHT_TERM(<, lt)
TILEWRIGHT_TERM(<=, le)
TILEWRIGHT_TERM(>, gt)
TILEWRIGHT_TERM(>=, ge)
TILEWRIGHT_TERM(==, eq)
TILEWRIGHT_TERM(!=, ne)
#undef TILEWRIGHT_TERM
// For conditions, which are bool; both are always evaluated.
inline Formula operator&(const Formula& a, const Formula& b) { return a.make(Op::logical_and, b); }
inline Formula operator|(const Formula& a, const Formula& b) { return a.make(Op::logical_or, b); }
inline Formula operator!(const Formula& a) { return a.make(Op::logical_not); }
inline Formula operator-(const Formula& a) { return a.make(Op::neg); }

#define TILEWRIGHT_TERM(name) \
  inline Formula name(const Formula& x) { return x.make(Op::name); }
TILEWRIGHT_TERM(abs)
TILEWRIGHT_TERM(exp)
TILEWRIGHT_TERM(exp2)
TILEWRIGHT_TERM(log)
TILEWRIGHT_TERM(log2)
TILEWRIGHT_TERM(sin)
TILEWRIGHT_TERM(cos)
TILEWRIGHT_TERM(tanh)
TILEWRIGHT_TERM(erf)
TILEWRIGHT_TERM(sqrt)
TILEWRIGHT_TERM(rsqrt)
TILEWRIGHT_TERM(floor)
TILEWRIGHT_TERM(ceil)
TILEWRIGHT_TERM(round)
TILEWRIGHT_TERM(expm1)
TILEWRIGHT_TERM(log1p)
TILEWRIGHT_TERM(sigmoid)
#undef TILEWRIGHT_TERM

// The greater and the less; a NaN wins.
Formula greater(const Formula& a, const Formula& b);
Formula lesser(const Formula& a, const Formula& b);
Formula choice(const Formula& condition, const Formula& a, const Formula& b);
Formula choice(const Formula& condition, const Formula& a, double b);
Formula choice(const Formula& condition, double a, const Formula& b);

// c0 + x (c1 + x (c2 + ..)).
Formula polynomial(const Formula& x, const std::vector<double>& coefficients);

// Conditions of any dtype: of integers and of bool known without looking.
Formula is_nan(const Formula& x);
Formula is_infinite(const Formula& x);
// Below 0, or -0. False for NaN: its sign cannot be seen.
Formula is_negative(const Formula& x);
// The magnitude of a float, with a minus where the condition holds.
Formula negated_where(const Formula& condition, const Formula& magnitude);

// The operands of one call as terms, and the dtype of its result.
struct Terms {
  std::vector<Formula> terms;
  DType dtype;

  const Formula& operator[](std::size_t i) const { return terms[i]; }
  Tensor result(const Formula& formula) const { return formula.to(dtype).tensor(); }
};
// The formula of the terms, in the result's dtype, as one operation where nothing is captured. It
// depends on the terms and on the settings alone; no two formulas have one name.
Tensor computed(std::string_view name, const Terms& terms,
                const std::function<Formula(const Terms&)>& formula,
                std::vector<Number> settings = {});

using OperandList = std::initializer_list<const TensorOperand*>;

// Broadcast to one shape and promoted to one dtype.
Terms promoted(std::string_view operation, OperandList operands);
// The same, where that dtype must be floating: integers and bool become f32, and floats of 16 bits
// are computed in f32, to which alone the result is rounded.
Terms floating(std::string_view operation, OperandList operands);
// The same with floats as they are and integers as integers, but floats of 16 bits in f32.
Terms widened(std::string_view operation, OperandList operands);

}  // namespace tilewright::graph
