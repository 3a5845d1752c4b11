#include "models/programs/python_expression.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <span>

namespace tilewright::programs {
namespace {

using MaybeExpression = std::optional<SizeExpression>;

// An operator between two operands, and the name of its function.
struct InfixOperator {
  std::string_view text;
  std::string_view function;
};
constexpr InfixOperator disjunctions[] = {{"or", "Or"}};
constexpr InfixOperator conjunctions[] = {{"and", "And"}};
constexpr InfixOperator comparisons[] = {{"==", "Equality"},      {"!=", "Unequality"},
                                         {"<=", "LessThan"},      {">=", "GreaterThan"},
                                         {"<", "StrictLessThan"}, {">", "StrictGreaterThan"}};
constexpr InfixOperator bit_ors[] = {{"|", "BitwiseFn_bitwise_or"}};
constexpr InfixOperator bit_xors[] = {{"^", "BitwiseFn_bitwise_xor"}};
constexpr InfixOperator bit_ands[] = {{"&", "BitwiseFn_bitwise_and"}};
constexpr InfixOperator shifts[] = {{"<<", "LShift"}, {">>", "RShift"}};
constexpr InfixOperator sums[] = {{"+", "Add"}, {"-", "Sub"}};
constexpr InfixOperator products[] = {
    {"//", "FloorDiv"}, {"*", "Mul"}, {"/", "FloatTrueDiv"}, {"%", "PythonMod"}};
// From those that bind least. `not` stands between `and` and comparisons.
constexpr std::span<const InfixOperator> levels[] = {
    disjunctions, conjunctions, comparisons, bit_ors, bit_xors, bit_ands, shifts, sums, products};
constexpr std::size_t comparison_level = 2;

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class PythonParser {
 public:
  explicit PythonParser(std::string_view text) : text_(text) {}

  MaybeExpression all() {
    if (text_.size() > most_expression_bytes) return std::nullopt;
    MaybeExpression result = conditional(0);
    skip_spaces();
    return at_ == text_.size() ? std::move(result) : std::nullopt;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    const std::size_t end = at_ + wanted.size();
    // A word ends where no other letter follows; `*` is no half of `**`.
    if (is_of_name(wanted.back()) && end < text_.size() && is_of_name(text_[end])) return false;
    if (wanted == "*" && end < text_.size() && text_[end] == '*') return false;
    at_ = end;
    return true;
  }
  const InfixOperator* taken_of(std::span<const InfixOperator> operators) {
    for (const InfixOperator& each : operators)
      if (take(each.text)) return &each;
    return nullptr;
  }

  MaybeExpression conditional(int depth) {
    MaybeExpression value = infix(0, depth + 1);
    if (!value || !take("if")) return value;
    MaybeExpression condition = infix(0, depth + 1);
    if (!condition || !take("else")) return std::nullopt;
    MaybeExpression other = conditional(depth + 1);
    if (!other) return std::nullopt;
    return function_of("Where", {std::move(*condition), std::move(*value), std::move(*other)});
  }

  // Operators of the level and those that bind more, from the left; sums and the like of many
  // operands stay flat, others count as depth.
  MaybeExpression infix(std::size_t level, int depth) {
    if (level == std::size(levels)) return unary(depth);
    if (depth > most_expression_depth) return std::nullopt;
    if (level == comparison_level && take("not")) return called("Not", infix(level, depth + 1));
    MaybeExpression left = infix(level + 1, depth);
    bool is_flat = false;  // `left` is a sum made here
    while (left) {
      const InfixOperator* found = taken_of(levels[level]);
      if (found == nullptr) return left;
      MaybeExpression right = infix(level + 1, depth + 1);
      if (!right || ++depth > most_expression_depth) return std::nullopt;
      const bool is_sum = found->function == "Add" || found->function == "Sub";
      if (found->function == "Sub") right = called("negative", std::move(right));
      std::string_view function = is_sum ? "Add" : found->function;
      if (is_flat && left->name == function) {
        left->operands.push_back(std::move(*right));
        --depth;
        continue;
      }
      is_flat = function == "Add" || function == "Mul" || function == "Or" || function == "And";
      left = function_of(function, {std::move(*left), std::move(*right)});
      if (level == comparison_level) return left;
    }
    return left;
  }
  static MaybeExpression called(std::string_view function, MaybeExpression operand) {
    if (!operand) return std::nullopt;
    return function_of(function, {std::move(*operand)});
  }

  MaybeExpression unary(int depth) {
    if (depth > most_expression_depth) return std::nullopt;
    if (take("-")) return called("negative", unary(depth + 1));
    if (take("+")) return called("Identity", unary(depth + 1));
    MaybeExpression base = atom(depth + 1);
    if (!base || !take("**")) return base;
    MaybeExpression exponent = unary(depth + 1);
    if (!exponent) return std::nullopt;
    return function_of("Pow", {std::move(*base), std::move(*exponent)});
  }

  MaybeExpression atom(int depth) {
    if (take("(")) {
      MaybeExpression inner = conditional(depth + 1);
      return inner && take(")") ? std::move(inner) : std::nullopt;
    }
    skip_spaces();
    if (at_ == text_.size()) return std::nullopt;
    const char first = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(first)) || first == '.') return number();
    std::string_view name = dotted_name();
    if (name == "L") return size_name(at_ - 1);
    return take("(") ? call(name, depth) : constant_or_symbol(name);
  }
  std::string_view dotted_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_of_name(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    // The name of a size goes on by itself.
    if (name.starts_with("L.")) at_ = from + 1;
    return text_.substr(from, at_ - from);
  }
  MaybeExpression call(std::string_view name, int depth) {
    std::vector<SizeExpression> operands;
    do {
      MaybeExpression operand = conditional(depth + 1);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    } while (take(","));
    if (!take(")")) return std::nullopt;
    SizeExpression result = function_of(name, std::move(operands));
    return result.function ? MaybeExpression(std::move(result)) : std::nullopt;
  }
  static MaybeExpression constant_or_symbol(std::string_view name) {
    using Limits = std::numeric_limits<double>;
    using Kind = SizeExpression::Kind;
    auto floating = [](double value) {
      return SizeExpression{.kind = Kind::floating, .name = {}, .operands = {}, .floating = value};
    };
    if (name == "inf" || name == "math.inf") return floating(Limits::infinity());
    if (name == "math.nan") return floating(Limits::quiet_NaN());
    if (name == "True" || name == "False")
      return SizeExpression{
          .kind = Kind::truth, .integer = name == "True", .name = {}, .operands = {}};
    if (name.empty() || name.find('.') != name.npos) return std::nullopt;
    return SizeExpression{.kind = Kind::symbol, .name = std::string(name), .operands = {}};
  }

  MaybeExpression number() {
    const char* from = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    SizeExpression whole, floating{.kind = SizeExpression::Kind::floating, .name = {}};
    auto [behind, error] = std::from_chars(from, end, whole.integer);
    auto [behind_all, float_error] = std::from_chars(from, end, floating.floating);
    const bool is_whole = behind == behind_all && behind != from;
    at_ += static_cast<std::size_t>(behind_all - from);
    if ((is_whole ? error : float_error) != std::errc()) return std::nullopt;
    if (at_ < text_.size() && is_of_name(text_[at_])) return std::nullopt;
    return is_whole ? whole : floating;
  }

  // Keys in brackets, which may be quoted, members and calls follow the `L`.
  MaybeExpression size_name(std::size_t from) {
    while (at_ < text_.size()) {
      if (text_[at_] == '[') {
        if (!skip_key()) return std::nullopt;
      } else if (text_[at_] == '.') {
        ++at_;
        while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
      } else if (text_.substr(at_).starts_with("()")) {
        at_ += 2;
      } else {
        break;
      }
    }
    return SizeExpression{.kind = SizeExpression::Kind::symbol,
                          .name = std::string(text_.substr(from, at_ - from)),
                          .operands = {}};
  }
  bool skip_key() {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
      ++at_;
    } else {
      while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    }
    if (at_ >= text_.size() || text_[at_] != ']') return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

MaybeExpression parse_python_expression(std::string_view text) { return PythonParser(text).all(); }

}  // namespace tilewright::programs
