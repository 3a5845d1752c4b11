// Formulas over tile IR that read as formulas: `fma(x, x, 1.0) * y` appends the instructions.
//
// An Expression is a value together with where code is being appended. All expressions of one
// formula have the shape of its argument; a C++ number takes the element type of the other operand.
// Separate from the embedded language (dsl/language/tile.h), which traces whole kernels: here a
// pass writes into the middle of a function that exists.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl::math {

// Where the instructions of a formula go.
struct InsertionPoint {
  ir::Function& function;
  std::vector<ir::Inst>& code;
  Shape shape;
  std::source_location where;

  ir::Value append(ir::Op op, std::vector<ir::Value> operands, ir::Immediate immediate = {});
};

class Expression {
 public:
  Expression(InsertionPoint& site, ir::Value value) : site_(&site), value_(value) {}
  InsertionPoint& site() const { return *site_; }
  ir::Value value() const { return value_; }
  DType dtype() const { return site_->function.type(value_).dtype; }

 private:
  InsertionPoint* site_;
  ir::Value value_;
};

// A number of the given type in every element.
Expression number(InsertionPoint& site, DType dtype, double value);
// The bits of an integer constant of the type of `like`.
Expression integer_like(const Expression& like, std::int64_t value);

// An expression, or a number that becomes one of the type of its partner.
class Term {
 public:
  Term(const Expression& expression) : expression_(expression) {}
  Term(double number) : number_(number) {}
  Expression like(const Expression& partner) const {
    return expression_ ? *expression_ : number(partner.site(), partner.dtype(), number_);
  }

 private:
  std::optional<Expression> expression_;
  double number_ = 0;
};

Expression apply(ir::Op op, const Expression& x);
Expression apply(ir::Op op, const Expression& a, const Term& b);
Expression operator+(const Expression& a, const Term& b);
Expression operator-(const Expression& a, const Term& b);
Expression operator*(const Expression& a, const Term& b);
Expression operator/(const Term& a, const Expression& b);
Expression operator<(const Expression& a, const Term& b);
Expression operator>(const Expression& a, const Term& b);
Expression operator<<(const Expression& a, int by);
Expression operator>>(const Expression& a, int by);
Expression operator&(const Expression& a, std::int64_t bits);
Expression operator^(const Expression& a, const Expression& b);
Expression fma(const Expression& a, const Term& b, const Term& c);
// `a` where the condition holds, else `b`; one of them must be an expression.
Expression choose(const Expression& condition, const Expression& a, const Term& b);
Expression choose(const Expression& condition, double a, const Expression& b);
Expression cast(const Expression& x, DType dtype);
Expression bitcast(const Expression& x, DType dtype);
// c0 + c1 x + c2 x^2 + ... by Horner's rule, highest coefficient last.
Expression polynomial(const Expression& x, std::initializer_list<double> coefficients);

}  // namespace tilewright::dsl::math
