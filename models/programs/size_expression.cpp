#include "models/programs/size_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "runtime/base/error.h"

namespace tilewright::programs {
namespace {

using Kind = SizeExpression::Kind;

constexpr int most_depth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<SizeExpression> all() {
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
    if (depth > most_depth || name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
      return std::nullopt;
    if (!take('(')) return SizeExpression{Kind::symbol, 0, std::string(name), {}};
    if (name == "Integer") return integer();
    if (name == "Symbol") return symbol();
    SizeExpression result{Kind::function, 0, std::string(name), {}};
    do {
      auto operand = expression(depth + 1);
      if (!operand) return std::nullopt;
      result.operands.push_back(std::move(*operand));
    } while (take(','));
    return take(')') ? std::optional(std::move(result)) : std::nullopt;
  }
  std::optional<SizeExpression> integer() {
    std::string_view digits =
        taken_while([](unsigned char c) { return std::isdigit(c) || c == '-'; });
    SizeExpression result;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.integer);
    bool is_number = error == std::errc() && end == digits.data() + digits.size();
    return is_number && take(')') ? std::optional(result) : std::nullopt;
  }
  // A name in quotes, and assumptions that say nothing more than the ranges do.
  std::optional<SizeExpression> symbol() {
    if (!take('\'')) return std::nullopt;
    SizeExpression result{Kind::symbol, 0, std::string(word()), {}};
    if (result.name.empty() || !take('\'')) return std::nullopt;
    while (take(','))
      if (word().empty() || !take('=') || word().empty()) return std::nullopt;
    return take(')') ? std::optional(std::move(result)) : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using Integer = std::optional<std::int64_t>;

Integer floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

Integer applied(const std::string& function, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (function == "Add") return __builtin_add_overflow(a, b, &result) ? Integer() : result;
  if (function == "Mul") return __builtin_mul_overflow(a, b, &result) ? Integer() : result;
  if (function == "Max") return std::max(a, b);
  if (function == "Min") return std::min(a, b);
  if (function == "FloorDiv" || function == "CleanDiv") return floor_quotient(a, b);
  if (function == "Mod" || function == "PythonMod") {
    Integer quotient = floor_quotient(a, b);
    return quotient ? Integer(a - *quotient * b) : Integer();
  }
  return std::nullopt;
}

}  // namespace

std::optional<SizeExpression> parse_size_expression(std::string_view text) {
  return Parser(text).all();
}

Integer evaluate(const SizeExpression& expression, const SymbolValues& symbols) {
  if (expression.kind == Kind::integer) return expression.integer;
  if (expression.kind == Kind::symbol) {
    auto found = symbols.find(expression.name);
    return found == symbols.end() ? Integer() : found->second;
  }
  Integer result = evaluate(expression.operands.front(), symbols);
  for (std::size_t i = 1; i < expression.operands.size() && result; ++i) {
    Integer next = evaluate(expression.operands[i], symbols);
    result = next ? applied(expression.name, *result, *next) : Integer();
  }
  return expression.operands.size() > 1 ? result : Integer();
}

std::string to_string(const SizeExpression& expression) {
  if (expression.kind == Kind::integer) return std::to_string(expression.integer);
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
