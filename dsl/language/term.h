// Values of words that are made of other words. A word such as `log1p` appends several instructions
// for one call of the user's, and all of them must name the line of that call; so it computes with
// Terms, which carry the line along. Not for kernels: these write tiles.
#pragma once

#include <source_location>

#include "dsl/language/tile.h"

namespace tilewright::dsl::words {

// A tile or a C++ number.
class Term {
 public:
  Term(const Operand& operand) : operand_(operand) {}
  Term(const Tile& tile, std::source_location where) : operand_(tile, where) {}
  template <Number N>
  Term(N number) : operand_(number) {}

  bool is_number() const { return operand_.is_number(); }
  const Tile& tile() const { return operand_.tile(); }
  std::source_location where() const { return operand_.where; }
  DType dtype() const { return tile().dtype(); }
  Shape shape() const { return tile().shape(); }
  // The same at the line of another.
  Operand at(std::source_location where) const {
    Operand moved = operand_;
    moved.where = where;
    return moved;
  }
  const Operand& operand() const { return operand_; }
  // A number in the shape and type of this.
  template <Number N>
  Term number(N number) const {
    return {detail::full(shape(), Operand(number, where()), dtype()), where()};
  }
  Term to(DType dtype) const { return {dsl::cast(operand_, dtype), where()}; }

 private:
  Operand operand_;
};

// The line of the one that is a tile.
inline std::source_location line_of(const Term& a, const Term& b) {
  return a.is_number() ? b.where() : a.where();
}

#define TILEWRIGHT_TERM_OPERATOR(symbol)                      \
  inline Term operator symbol(const Term& a, const Term& b) { \
    const std::source_location where = line_of(a, b);         \
    return {a.at(where) symbol b.at(where), where};           \
  }
TILEWRIGHT_TERM_OPERATOR(+)
TILEWRIGHT_TERM_OPERATOR(-)
TILEWRIGHT_TERM_OPERATOR(*)
TILEWRIGHT_TERM_OPERATOR(/)
TILEWRIGHT_TERM_OPERATOR(%)
TILEWRIGHT_TERM_OPERATOR(&)
TILEWRIGHT_TERM_OPERATOR(|)
TILEWRIGHT_TERM_OPERATOR(^)
TILEWRIGHT_TERM_OPERATOR(<<)
TILEWRIGHT_TERM_OPERATOR(>>)
TILEWRIGHT_TERM_OPERATOR(==)
TILEWRIGHT_TERM_OPERATOR(!=)
TILEWRIGHT_TERM_OPERATOR(<)
TILEWRIGHT_TERM_OPERATOR(<=)
TILEWRIGHT_TERM_OPERATOR(>)
TILEWRIGHT_TERM_OPERATOR(>=)
#undef TILEWRIGHT_TERM_OPERATOR
inline Term operator-(const Term& a) { return {-a.operand(), a.where()}; }
inline Term operator~(const Term& a) { return {~a.operand(), a.where()}; }
inline Term operator!(const Term& a) { return {!a.operand(), a.where()}; }

#define TILEWRIGHT_TERM_FUNCTION(name) \
  inline Term name(const Term& x) { return {dsl::name(x.operand()), x.where()}; }
TILEWRIGHT_TERM_FUNCTION(abs)
TILEWRIGHT_TERM_FUNCTION(exp)
TILEWRIGHT_TERM_FUNCTION(exp2)
TILEWRIGHT_TERM_FUNCTION(log)
TILEWRIGHT_TERM_FUNCTION(log2)
TILEWRIGHT_TERM_FUNCTION(sin)
TILEWRIGHT_TERM_FUNCTION(cos)
TILEWRIGHT_TERM_FUNCTION(tanh)
TILEWRIGHT_TERM_FUNCTION(erf)
TILEWRIGHT_TERM_FUNCTION(sqrt)
TILEWRIGHT_TERM_FUNCTION(rsqrt)
TILEWRIGHT_TERM_FUNCTION(floor)
TILEWRIGHT_TERM_FUNCTION(ceil)
TILEWRIGHT_TERM_FUNCTION(round)
#undef TILEWRIGHT_TERM_FUNCTION

inline Term greater(const Term& a, const Term& b) {
  const std::source_location where = line_of(a, b);
  return {maximum(a.at(where), b.at(where)), where};
}
inline Term lesser(const Term& a, const Term& b) {
  const std::source_location where = line_of(a, b);
  return {minimum(a.at(where), b.at(where)), where};
}
inline Term choice(const Term& condition, const Term& a, const Term& b) {
  const std::source_location line = condition.where();
  return {where(condition.operand(), a.at(line), b.at(line)), line};
}
inline Term as_type(const Term& x, DType dtype) {
  return {dsl::cast(x.operand(), dtype), x.where()};
}
inline Term bits_as(const Term& x, DType dtype) {
  return {dsl::bitcast(x.operand(), dtype), x.where()};
}

}  // namespace tilewright::dsl::words
