// The functions by which foreign programs compute sizes and conditions on them, on integers, floats
// and truth values, with Python's results.
//
// Apart from expressions of sizes (size_expression.h), since nodes of graphs compute with them too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/tensor/user/number.h"

namespace tilewright::programs {

enum class SizeFunction : std::uint8_t {
  // One operand. floor to round give integers; round takes a number of decimal places as well.
  negative,
  identity,
  to_float,
  absolute,
  logical_not,
  floor,
  ceil,
  trunc,
  round,
  trunc_to_float,
  sqrt,
  exp,
  log,
  log2,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  // Two operands.
  subtract,
  true_divide,
  floor_divide,
  ceil_divide,
  remainder,
  power,
  shift_left,
  shift_right,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  // Two or more, from the left.
  add,
  multiply,
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
  // Two or more, as far as the result needs them.
  all,
  any,
  // Three: (a // b) % c, and `a if condition else b` with the condition first.
  modular_index,
  choose,
};

// By the name that sympy prints ("FloorDiv") or that Python code has ("math.floor").
std::optional<SizeFunction> find_size_function(std::string_view name);
// True if the function has as many operands.
bool takes(SizeFunction function, std::size_t operands);

// Nothing where Python raises (a division by zero, a root of a negative number), where an integer
// passes 64 bits, and for functions of another number of operands.
std::optional<Number> applied(SizeFunction function, const Number& a);
std::optional<Number> applied(SizeFunction function, const Number& a, const Number& b);

// An integer, or a float that is one. Nothing for truth values, and beyond 64 bits.
std::optional<std::int64_t> whole_number(const Number& number);

}  // namespace tilewright::programs
