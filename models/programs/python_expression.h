// Expressions of sizes in Python's syntax: `(L['x'].size()[0] % 2) == 0`.
//
// Only what PyTorch prints is read: numbers, arithmetic, comparisons of two operands, `and`, `or`,
// `not`, `a if b else c`, calls of known functions, and symbols: words, and what begins with `L`.
#pragma once

#include <optional>
#include <string_view>

#include "models/programs/size_expression.h"

namespace tilewright::programs {

// The name of a symbol is its text, "L['x'].size()[0]". Nothing where the text is not such an
// expression, calls an unknown function, or is too deep or too long.
std::optional<SizeExpression> parse_python_expression(std::string_view text);

}  // namespace tilewright::programs
