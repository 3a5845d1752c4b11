#include "models/programs/shared_expressions.h"

#include <bit>

#include "runtime/base/error.h"

namespace tilewright::programs {

std::size_t SharedExpressions::add(const SizeExpression& expression) {
  Term term;
  term.head.kind = expression.kind;
  term.head.integer = expression.integer;
  term.head.name = expression.name;
  term.head.floating = expression.floating;
  term.head.function = expression.function;
  for (const SizeExpression& operand : expression.operands) term.operands.push_back(add(operand));
  std::string text = concat(static_cast<int>(term.head.kind), ' ', term.head.integer, ' ',
                            std::bit_cast<std::uint64_t>(term.head.floating));
  for (std::size_t operand : term.operands) text += concat(' ', operand);
  const auto [known, is_new] = places_.emplace(concat(text, ' ', term.head.name), terms_.size());
  if (is_new) terms_.push_back(std::move(term));
  return known->second;
}

std::vector<std::optional<Number>> SharedExpressions::values(const SymbolValues& symbols) const {
  std::vector<std::optional<Number>> values;
  values.reserve(terms_.size());
  for (const Term& term : terms_) {
    const auto operand = [&](std::size_t i) { return values[term.operands[i]]; };
    values.push_back(number_of(term.head, term.operands.size(), operand, symbols));
  }
  return values;
}

}  // namespace tilewright::programs
