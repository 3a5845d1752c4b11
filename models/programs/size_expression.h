// An expression of sizes that a program states: `Mul(Integer(4), Symbol('s27', ...))`.
//
// Sizes and their ranges are texts that sympy's srepr gives; conditions on sizes are Python
// (python_expression.h). Both become this tree, which is evaluated in one way. Sizes of inputs and
// conditions are read so; sizes in between are computed by nodes of the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/programs/size_arithmetic.h"

namespace tilewright::programs {

struct SizeExpression {
  enum class Kind : std::uint8_t { integer, floating, truth, symbol, function };
  Kind kind = Kind::integer;
  std::int64_t integer = 0;              // a truth is 0 or 1
  std::string name;                      // of a symbol or function
  std::vector<SizeExpression> operands;  // of a function
  double floating = 0;
  std::optional<SizeFunction> function = {};  // none: it is not known
  bool operator==(const SizeExpression&) const = default;
};

// Texts are read up to this length, and expressions up to this depth.
constexpr std::size_t most_expression_bytes = 1 << 16;
constexpr int most_expression_depth = 256;

// A function by its name, which may be unknown.
SizeExpression function_of(std::string_view name, std::vector<SizeExpression> operands);

// Nothing where the text is not such an expression, or is too deep or too long.
std::optional<SizeExpression> parse_size_expression(std::string_view text);

using SymbolValues = std::map<std::string, Number, std::less<>>;
// Nothing where a symbol has no value, a function is not known, Python would raise (a division by
// zero), or an integer passes 64 bits.
std::optional<Number> number_of(const SizeExpression& expression, const SymbolValues& symbols);
// The same of an expression whose operands have values already: `operand(i)` gives them, as far as
// they are needed, and those of `head` are not read.
std::optional<Number> number_of(const SizeExpression& head, std::size_t operands,
                                const std::function<std::optional<Number>(std::size_t)>& operand,
                                const SymbolValues& symbols);
// The same of a size, which is an integer.
std::optional<std::int64_t> evaluate(const SizeExpression& expression, const SymbolValues& symbols);

// Calls `visit` with the name of each symbol, from the left; repeatedly with one that recurs.
template <typename Visit>
void for_each_symbol(const SizeExpression& expression, const Visit& visit) {
  if (expression.kind == SizeExpression::Kind::symbol) visit(expression.name);
  for (const SizeExpression& operand : expression.operands) for_each_symbol(operand, visit);
}

// As people write it: "4 * s27"; functions as "FloorDiv(s27, 2)".
std::string to_string(const SizeExpression& expression);

}  // namespace tilewright::programs
