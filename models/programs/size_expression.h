// A size that a program states in terms of other sizes: `Mul(Integer(4), Symbol('s27', ...))`.
//
// The text is what sympy's srepr gives. Only expressions of sizes of inputs are read so; sizes in
// between are computed by nodes of the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::programs {

struct SizeExpression {
  enum class Kind : std::uint8_t { integer, symbol, function };
  Kind kind = Kind::integer;
  std::int64_t integer = 0;
  std::string name;                      // of a symbol or function
  std::vector<SizeExpression> operands;  // of a function
  bool operator==(const SizeExpression&) const = default;
};

// Nothing where the text is not such an expression, or is too deep.
std::optional<SizeExpression> parse_size_expression(std::string_view text);

using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;
// Nothing where a symbol has no value, a function is not known, or the result passes 64 bits.
std::optional<std::int64_t> evaluate(const SizeExpression& expression, const SymbolValues& symbols);

// As people write it: "4 * s27"; functions as "FloorDiv(s27, 2)".
std::string to_string(const SizeExpression& expression);

}  // namespace tilewright::programs
