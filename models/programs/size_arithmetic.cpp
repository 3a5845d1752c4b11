#include "models/programs/size_arithmetic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tilewright::programs {
namespace {

using Function = SizeFunction;
using MaybeNumber = std::optional<Number>;

struct NamedFunction {
  std::string_view name;
  SizeFunction function;
};
constexpr NamedFunction names[] = {
    {"Add", Function::add},
    {"negative", Function::negative},
    {"Mul", Function::multiply},
    {"Max", Function::maximum},
    {"max", Function::maximum},
    {"torch.sym_max", Function::maximum},
    {"Min", Function::minimum},
    {"min", Function::minimum},
    {"torch.sym_min", Function::minimum},
    {"FloorDiv", Function::floor_divide},
    {"CleanDiv", Function::floor_divide},
    {"CeilDiv", Function::ceil_divide},
    {"Mod", Function::remainder},
    {"PythonMod", Function::remainder},
    {"ModularIndexing", Function::modular_index},
    {"IntTrueDiv", Function::true_divide},
    {"FloatTrueDiv", Function::true_divide},
    {"Rational", Function::true_divide},
    {"Pow", Function::power},
    {"PowByNatural", Function::power},
    {"FloatPow", Function::power},
    {"LShift", Function::shift_left},
    {"RShift", Function::shift_right},
    {"BitwiseFn_bitwise_and", Function::bit_and},
    {"BitwiseFn_bitwise_or", Function::bit_or},
    {"BitwiseFn_bitwise_xor", Function::bit_xor},
    {"ToFloat", Function::to_float},
    {"float", Function::to_float},
    {"torch.sym_float", Function::to_float},
    {"TruncToFloat", Function::trunc_to_float},
    {"TruncToInt", Function::trunc},
    {"int", Function::trunc},
    {"math.trunc", Function::trunc},
    {"torch.sym_int", Function::trunc},
    {"cast_symbool_to_symint_guardless", Function::trunc},
    {"FloorToInt", Function::floor},
    {"floor", Function::floor},
    {"math.floor", Function::floor},
    {"CeilToInt", Function::ceil},
    {"ceiling", Function::ceil},
    {"math.ceil", Function::ceil},
    {"RoundToInt", Function::round},
    {"RoundDecimal", Function::round},
    {"round", Function::round},
    {"Identity", Function::identity},
    {"Abs", Function::absolute},
    {"abs", Function::absolute},
    {"Equality", Function::equal},
    {"Unequality", Function::unequal},
    {"StrictLessThan", Function::less},
    {"LessThan", Function::less_equal},
    {"StrictGreaterThan", Function::greater},
    {"GreaterThan", Function::greater_equal},
    {"And", Function::all},
    {"Or", Function::any},
    {"Not", Function::logical_not},
    {"torch.sym_not", Function::logical_not},
    {"Where", Function::choose},
    {"torch.sym_ite", Function::choose},
};

struct ElementaryFunction {
  std::string_view name;  // behind one of the prefixes
  SizeFunction function;
  double (*compute)(double);
};
constexpr std::string_view prefixes[] = {"OpaqueUnaryFn_", "torch._sym_", "math."};
constexpr ElementaryFunction elementary[] = {
    {"sqrt", Function::sqrt, [](double x) { return std::sqrt(x); }},
    {"exp", Function::exp, [](double x) { return std::exp(x); }},
    {"log", Function::log, [](double x) { return std::log(x); }},
    {"log2", Function::log2, [](double x) { return std::log2(x); }},
    {"sin", Function::sin, [](double x) { return std::sin(x); }},
    {"cos", Function::cos, [](double x) { return std::cos(x); }},
    {"tan", Function::tan, [](double x) { return std::tan(x); }},
    {"asin", Function::asin, [](double x) { return std::asin(x); }},
    {"acos", Function::acos, [](double x) { return std::acos(x); }},
    {"atan", Function::atan, [](double x) { return std::atan(x); }},
    {"sinh", Function::sinh, [](double x) { return std::sinh(x); }},
    {"cosh", Function::cosh, [](double x) { return std::cosh(x); }},
    {"tanh", Function::tanh, [](double x) { return std::tanh(x); }},
};

// Python raises where a finite number has no finite result.
MaybeNumber elementary_value(SizeFunction function, double x) {
  const auto* row = std::ranges::find(elementary, function, &ElementaryFunction::function);
  if (row == std::end(elementary)) return std::nullopt;
  const double result = row->compute(x);
  return std::isfinite(result) || !std::isfinite(x) ? MaybeNumber(result) : std::nullopt;
}

MaybeNumber as_whole(double x) {
  if (!(std::abs(x) < 0x1p63)) return std::nullopt;
  return Number(static_cast<std::int64_t>(x));
}

MaybeNumber floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return Number(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
MaybeNumber whole_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return Number(0);
  const std::int64_t rest = a % b;
  return Number(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
// Python's float.__divmod__, whose quotient fits the remainder.
std::optional<std::pair<double, double>> float_divmod(double a, double b) {
  if (b == 0) return std::nullopt;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (quotient == 0) return std::pair(std::copysign(0.0, a / b), rest);
  const double whole = std::floor(quotient);
  return std::pair(quotient - whole > 0.5 ? whole + 1 : whole, rest);
}

MaybeNumber whole_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t left = exponent; left > 0; left /= 2) {
    if (left % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (left > 1 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return Number(result);
}
MaybeNumber power_of(const Number& a, const Number& b) {
  if (a.is_integral() && b.is_integral() && b.as_integer() >= 0)
    return whole_power(a.as_integer(), b.as_integer());
  const double base = a.as_double(), exponent = b.as_double();
  if (base == 0 && exponent < 0) return std::nullopt;
  const double result = std::pow(base, exponent);
  const bool is_right = std::isfinite(result) || !std::isfinite(base) || !std::isfinite(exponent);
  return is_right ? MaybeNumber(result) : std::nullopt;
}

// To a number of decimal places: the nearest decimal number, as a float.
MaybeNumber rounded(const Number& x, const Number& places) {
  if (!places.is_integral() || places.as_integer() < 0 || places.as_integer() > 22)
    return std::nullopt;
  if (x.is_integral() || !std::isfinite(x.as_double())) return x;
  std::array<char, 400> text;
  auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), x.as_double(), std::chars_format::fixed,
                    static_cast<int>(places.as_integer()));
  double result = 0;
  if (error != std::errc()) return std::nullopt;
  std::from_chars(text.data(), end, result);
  return Number(result);
}

MaybeNumber shifted(const Number& a, const Number& b, bool to_left) {
  if (!a.is_integral() || !b.is_integral() || b.as_integer() < 0) return std::nullopt;
  const std::int64_t x = a.as_integer(), by = std::min<std::int64_t>(b.as_integer(), 63);
  if (!to_left) return Number(x >> by);
  std::int64_t result = 0;
  if (x == 0) return Number(0);
  if (by > 62 || __builtin_mul_overflow(x, std::int64_t{1} << by, &result)) return std::nullopt;
  return Number(result);
}

MaybeNumber bits_of(SizeFunction function, const Number& a, const Number& b) {
  if (!a.is_integral() || !b.is_integral()) return std::nullopt;
  const std::int64_t x = a.as_integer(), y = b.as_integer();
  const std::int64_t result = function == Function::bit_and  ? x & y
                              : function == Function::bit_or ? x | y
                                                             : x ^ y;
  if (is_boolean(a.dtype()) && is_boolean(b.dtype())) return Number(result != 0);
  return Number(result);
}

template <typename T>
bool compared(SizeFunction function, T a, T b) {
  return function == Function::equal        ? a == b
         : function == Function::unequal    ? a != b
         : function == Function::less       ? a < b
         : function == Function::less_equal ? a <= b
         : function == Function::greater    ? a > b
                                            : a >= b;
}

MaybeNumber of_integers(SizeFunction function, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool passes = false;
  if (function == Function::add) passes = __builtin_add_overflow(a, b, &result);
  if (function == Function::subtract) passes = __builtin_sub_overflow(a, b, &result);
  if (function == Function::multiply) passes = __builtin_mul_overflow(a, b, &result);
  if (function == Function::minimum) result = std::min(a, b);
  if (function == Function::maximum) result = std::max(a, b);
  return passes ? MaybeNumber() : MaybeNumber(result);
}
double of_floats(SizeFunction function, double a, double b) {
  return function == Function::add        ? a + b
         : function == Function::subtract ? a - b
         : function == Function::multiply ? a * b
         : function == Function::minimum  ? std::min(a, b)
                                          : std::max(a, b);
}

}  // namespace

std::optional<SizeFunction> find_size_function(std::string_view name) {
  const auto* row = std::ranges::find(names, name, &NamedFunction::name);
  if (row != std::end(names)) return row->function;
  for (std::string_view prefix : prefixes) {
    if (!name.starts_with(prefix)) continue;
    const auto* found =
        std::ranges::find(elementary, name.substr(prefix.size()), &ElementaryFunction::name);
    if (found != std::end(elementary)) return found->function;
  }
  return std::nullopt;
}

bool takes(SizeFunction function, std::size_t operands) {
  if (function == Function::round) return operands == 1 || operands == 2;
  if (function < Function::subtract) return operands == 1;
  if (function < Function::add) return operands == 2;
  if (function < Function::modular_index) return operands >= 2;
  return operands == 3;
}

MaybeNumber applied(SizeFunction function, const Number& a) {
  const bool is_whole = a.is_integral();
  const double x = a.as_double();
  switch (function) {
    case Function::negative:
      if (!is_whole) return Number(-x);
      return of_integers(Function::subtract, 0, a.as_integer());
    case Function::absolute: return x < 0 ? applied(Function::negative, a) : MaybeNumber(a);
    case Function::identity: return a;
    case Function::to_float: return Number(x);
    case Function::logical_not: return Number(x == 0);
    case Function::floor: return is_whole ? Number(a.as_integer()) : as_whole(std::floor(x));
    case Function::ceil: return is_whole ? Number(a.as_integer()) : as_whole(std::ceil(x));
    case Function::trunc: return is_whole ? Number(a.as_integer()) : as_whole(std::trunc(x));
    case Function::round: return is_whole ? Number(a.as_integer()) : as_whole(std::rint(x));
    case Function::trunc_to_float: return Number(std::trunc(x));
    default: return elementary_value(function, x);
  }
}

MaybeNumber applied(SizeFunction function, const Number& a, const Number& b) {
  const bool are_whole = a.is_integral() && b.is_integral();
  const double x = a.as_double(), y = b.as_double();
  if (function >= Function::equal && function <= Function::greater_equal)
    return Number(are_whole ? compared(function, a.as_integer(), b.as_integer())
                            : compared(function, x, y));
  switch (function) {
    case Function::add:
    case Function::subtract:
    case Function::multiply:
    case Function::minimum:
    case Function::maximum:
      if (are_whole) return of_integers(function, a.as_integer(), b.as_integer());
      return Number(of_floats(function, x, y));
    case Function::true_divide: return y == 0 ? MaybeNumber() : MaybeNumber(x / y);
    case Function::floor_divide:
      if (are_whole) return floor_quotient(a.as_integer(), b.as_integer());
      if (auto both = float_divmod(x, y)) return Number(both->first);
      return std::nullopt;
    case Function::remainder:
      if (are_whole) return whole_remainder(a.as_integer(), b.as_integer());
      if (auto both = float_divmod(x, y)) return Number(both->second);
      return std::nullopt;
    case Function::ceil_divide: {
      const MaybeNumber opposite = applied(Function::negative, a);
      const MaybeNumber below =
          opposite ? applied(Function::floor_divide, *opposite, b) : MaybeNumber();
      return below ? applied(Function::negative, *below) : MaybeNumber();
    }
    case Function::power: return power_of(a, b);
    case Function::round: return rounded(a, b);
    case Function::shift_left:
    case Function::shift_right: return shifted(a, b, function == Function::shift_left);
    case Function::bit_and:
    case Function::bit_or:
    case Function::bit_xor: return bits_of(function, a, b);
    case Function::all: return Number(x != 0 && y != 0);
    case Function::any: return Number(x != 0 || y != 0);
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> whole_number(const Number& number) {
  if (is_boolean(number.dtype())) return std::nullopt;
  if (number.is_integral()) return number.as_integer();
  const double x = number.as_double();
  if (std::trunc(x) != x) return std::nullopt;
  const MaybeNumber whole = as_whole(x);
  return whole ? std::optional(whole->as_integer()) : std::nullopt;
}

}  // namespace tilewright::programs
