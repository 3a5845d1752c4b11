// The vocabulary in which words on floating numbers are written: Terms (language/term.h) and the
// functions on them that formulas (dsl/math/angles.h and its neighbours) ask for. Not for kernels:
// these write tiles.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "dsl/language/operands.h"
#include "dsl/language/term.h"

namespace tilewright::dsl::words {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double none = std::numeric_limits<double>::quiet_NaN();  // of no number

// The floating operand as a term, of f32 at the least; and how results become its type again.
struct Floating {
  Term x;
  DType dtype;
  Floating(std::string_view word, const Operand& operand) : x(operand), dtype(DType::f32) {
    OperationUse site(word, operand.where);
    Tile tile = site.tile(operand, DType::f32);
    dtype = of_tile(site, tile).dtype;
    x = as_type(Term(tile, operand.where), accumulator(dtype));
  }
  Tile result(const Term& y) const { return as_type(y, dtype).tile(); }

  static ir::Type of_tile(const OperationUse& site, const Tile& tile) {
    ir::Type type = tile.type();
    site.expect(type.is_value() && is_floating(type.dtype) && !is_float8(type.dtype),
                "the operand is ", type, "; it must be floating, of 16 bits at the least");
    return type;
  }
};

// formula(x), in the type of x.
inline Tile function_of(std::string_view word, const Operand& x, Term (*formula)(const Term&)) {
  Floating f(word, x);
  return f.result(formula(f.x));
}

// Two of one type and shape.
struct FloatingPair {
  Floating a, b;
  FloatingPair(std::string_view word, const Operand& a, const Operand& b)
      : FloatingPair(word, OperationUse(word, a.where).unify(std::vector<Operand>{a, b}), a.where) {
  }
  Tile result(const Term& y) const { return a.result(y); }

 private:
  FloatingPair(std::string_view word, const std::vector<Tile>& both, std::source_location where)
      : a(word, Operand(both[0], where)), b(word, Operand(both[1], where)) {}
};

// c0 + x (c1 + x (c2 + ..)).
inline Term polynomial(const Term& x, const std::vector<double>& coefficients) {
  Term sum = x.number(coefficients.back());
  for (auto c = coefficients.rbegin() + 1; c != coefficients.rend(); ++c) sum = sum * x + *c;
  return sum;
}

inline DType bits_type(DType dtype) {
  const int bits = bit_width(dtype);
  return bits == 64 ? DType::i64 : bits == 32 ? DType::i32 : DType::i16;
}
inline Term bits_of(const Term& x) { return bits_as(x, bits_type(x.dtype())); }
// True if the bit of the sign is set, of zeros and NaN too.
inline Term is_negative(const Term& x) { return bits_of(x) < 0; }
inline Term negated_where(const Term& condition, const Term& x) { return choice(condition, -x, x); }

}  // namespace tilewright::dsl::words
