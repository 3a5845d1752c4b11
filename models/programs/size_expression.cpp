#include "models/programs/size_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "runtime/base/error.h"

namespace tilewright::programs {
namespace {

using Kind = SizeExpression::Kind;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<SizeExpression> all() {
    if (text_.size() > most_expression_bytes) return std::nullopt;
    auto result = expression(0);
    return result && rest().empty() ? result : std::nullopt;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <typename Accepts>
  std::string_view taken_while(Accepts accepts) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::size_t from = at_;
    while (at_ < text_.size() && accepts(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(from, at_ - from);
  }
  std::string_view word() {
    return taken_while([](unsigned char c) { return std::isalnum(c) || c == '_'; });
  }

  std::optional<SizeExpression> expression(int depth) {
    std::string_view name = word();
    if (depth > most_expression_depth || name.empty() ||
        std::isdigit(static_cast<unsigned char>(name[0])))
      return std::nullopt;
    if (!take('(')) return alone(name);
    if (name == "Integer") return closed(integer());
    if (name == "Float") return floating();
    if (name == "Rational") return rational();
    if (name == "Symbol") return symbol();
    std::vector<SizeExpression> operands;
    do {
      auto operand = expression(depth + 1);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    } while (take(','));
    return closed(function_of(name, std::move(operands)));
  }
  static SizeExpression alone(std::string_view name) {
    if (name == "true" || name == "false")
      return {.kind = Kind::truth, .integer = name == "true", .name = {}, .operands = {}};
    return {.kind = Kind::symbol, .name = std::string(name), .operands = {}};
  }
  std::optional<SizeExpression> closed(std::optional<SizeExpression> result) {
    return result && take(')') ? std::move(result) : std::nullopt;
  }
  std::optional<SizeExpression> integer() {
    std::string_view digits =
        taken_while([](unsigned char c) { return std::isdigit(c) || c == '-'; });
    SizeExpression result;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.integer);
    bool is_number = error == std::errc() && end == digits.data() + digits.size();
    return is_number ? std::optional(result) : std::nullopt;
  }
  std::optional<SizeExpression> rational() {
    auto above = integer();
    if (!above || !take(',')) return std::nullopt;
    auto below = integer();
    if (!below) return std::nullopt;
    return closed(function_of("Rational", {std::move(*above), std::move(*below)}));
  }
  // Digits in quotes, and settings: Float('0.5', precision=53).
  std::optional<SizeExpression> floating() {
    if (!take('\'')) return std::nullopt;
    std::string_view digits = taken_while([](unsigned char c) { return c != '\''; });
    SizeExpression result{.kind = Kind::floating, .name = {}, .operands = {}};
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.floating);
    bool is_number = error == std::errc() && end == digits.data() + digits.size();
    return is_number && take('\'') && settings() ? closed(std::move(result)) : std::nullopt;
  }
  // A name in quotes, and assumptions that say nothing more than the ranges do.
  std::optional<SizeExpression> symbol() {
    if (!take('\'')) return std::nullopt;
    SizeExpression result{.kind = Kind::symbol, .name = std::string(word()), .operands = {}};
    if (result.name.empty() || !take('\'') || !settings()) return std::nullopt;
    return closed(std::move(result));
  }
  bool settings() {
    while (take(','))
      if (word().empty() || !take('=') || word().empty()) return false;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using MaybeNumber = std::optional<Number>;

bool holds(const Number& number) { return number.as_double() != 0; }

using Operands = std::function<MaybeNumber(std::size_t)>;

// `all` and `any`, which leave out the operands behind the one that decides.
MaybeNumber joined(bool decides, std::size_t operands, const Operands& operand) {
  for (std::size_t i = 0; i < operands; ++i) {
    const MaybeNumber one = operand(i);
    if (!one) return std::nullopt;
    if (holds(*one) == decides) return Number(decides);
  }
  return Number(!decides);
}

MaybeNumber number_of_function(SizeFunction function, std::size_t operands,
                               const Operands& operand) {
  if (function == SizeFunction::all || function == SizeFunction::any)
    return joined(function == SizeFunction::any, operands, operand);
  MaybeNumber result = operand(0);
  if (!result) return std::nullopt;
  if (function == SizeFunction::choose) return operand(holds(*result) ? 1 : 2);
  if (operands == 1) return applied(function, *result);
  for (std::size_t i = 1; i < operands && result; ++i) {
    const MaybeNumber next = operand(i);
    const SizeFunction step = function != SizeFunction::modular_index ? function
                              : i == 1                                ? SizeFunction::floor_divide
                                                                      : SizeFunction::remainder;
    result = next ? applied(step, *result, *next) : MaybeNumber();
  }
  return result;
}

}  // namespace

SizeExpression function_of(std::string_view name, std::vector<SizeExpression> operands) {
  auto function = find_size_function(name);
  if (function && !takes(*function, operands.size())) function.reset();
  return {.kind = Kind::function,
          .name = std::string(name),
          .operands = std::move(operands),
          .function = function};
}

std::optional<SizeExpression> parse_size_expression(std::string_view text) {
  return Parser(text).all();
}

MaybeNumber number_of(const SizeExpression& head, std::size_t operands, const Operands& operand,
                      const SymbolValues& symbols) {
  switch (head.kind) {
    case Kind::integer: return Number(head.integer);
    case Kind::floating: return Number(head.floating);
    case Kind::truth: return Number(head.integer != 0);
    case Kind::symbol: {
      auto found = symbols.find(head.name);
      return found == symbols.end() ? MaybeNumber() : MaybeNumber(found->second);
    }
    case Kind::function:
      return head.function ? number_of_function(*head.function, operands, operand) : MaybeNumber();
  }
  return std::nullopt;
}
MaybeNumber number_of(const SizeExpression& expression, const SymbolValues& symbols) {
  return number_of(
      expression, expression.operands.size(),
      [&](std::size_t i) { return number_of(expression.operands[i], symbols); }, symbols);
}

std::optional<std::int64_t> evaluate(const SizeExpression& expression,
                                     const SymbolValues& symbols) {
  const MaybeNumber number = number_of(expression, symbols);
  return number ? whole_number(*number) : std::nullopt;
}

std::string to_string(const SizeExpression& expression) {
  if (expression.kind == Kind::integer) return std::to_string(expression.integer);
  if (expression.kind == Kind::floating) return concat(expression.floating);
  if (expression.kind == Kind::truth) return expression.integer != 0 ? "True" : "False";
  if (expression.kind == Kind::symbol) return expression.name;
  bool is_sum = expression.name == "Add", is_product = expression.name == "Mul";
  std::string_view between = is_sum ? " + " : is_product ? " * " : ", ";
  std::string text;
  for (const SizeExpression& operand : expression.operands) {
    bool in_brackets = is_product && operand.kind == Kind::function && operand.name == "Add";
    text += concat(text.empty() ? "" : between, in_brackets ? "(" : "", to_string(operand),
                   in_brackets ? ")" : "");
  }
  return is_sum || is_product ? text : concat(expression.name, "(", text, ")");
}

}  // namespace tilewright::programs
