#include "dsl/ir/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/base/random/philox.h"

namespace tilewright::ir {
namespace {

// Calls `f(number, store)` with a zero of the type that arithmetic of `dtype` is done in and the
// rounding of its results.
template <typename F>
void with_arithmetic(DType dtype, F&& f) {
  check(is_floating(dtype), "floating arithmetic on another type");
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, double>)
      f(double{}, [](double x) { return x; });
    else if constexpr (!std::is_integral_v<T>)
      f(float{}, [](float x) { return static_cast<double>(static_cast<float>(T(x))); });
  });
}

// The site of one evaluation.
struct Work {
  DType operand, result;
  std::span<const Column> in;
  MutableColumn out;
  std::int64_t count;

  template <typename F>
  void floats(F f) const {
    with_arithmetic(operand, [&](auto zero, auto store) {
      using T = decltype(zero);
      const double* a = in[0].floating;
      for (std::int64_t i = 0; i < count; ++i) out.floating[i] = store(f(static_cast<T>(a[i])));
    });
  }
  template <typename F>
  void float_pairs(F f) const {
    with_arithmetic(operand, [&](auto zero, auto store) {
      using T = decltype(zero);
      const double *a = in[0].floating, *b = in[1].floating;
      for (std::int64_t i = 0; i < count; ++i)
        out.floating[i] = store(f(static_cast<T>(a[i]), static_cast<T>(b[i])));
    });
  }
  // A function of libm, computed in double and rounded: the reference for every expansion.
  template <typename F>
  void transcendental(F f) const {
    floats([f](auto x) { return static_cast<decltype(x)>(f(static_cast<double>(x))); });
  }
  // `f` works on the host type of the integers; bool is an unsigned integer of one bit.
  template <typename F>
  void integers(F f) const {
    dispatch(operand, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>)
        for (std::int64_t i = 0; i < count; ++i)
          out.integer[i] =
              static_cast<std::int64_t>(static_cast<T>(f(static_cast<T>(in[0].integer[i]))));
    });
  }
  template <typename F>
  void integer_pairs(F f) const {
    dispatch(operand, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>)
        for (std::int64_t i = 0; i < count; ++i)
          out.integer[i] = static_cast<std::int64_t>(static_cast<T>(
              f(static_cast<T>(in[0].integer[i]), static_cast<T>(in[1].integer[i]))));
    });
  }
  template <typename F>
  void compare(F f) const {
    if (is_floating(operand)) {
      for (std::int64_t i = 0; i < count; ++i)
        out.integer[i] = f(in[0].floating[i], in[1].floating[i]);
    } else if (operand == DType::u64) {
      for (std::int64_t i = 0; i < count; ++i)
        out.integer[i] = f(static_cast<std::uint64_t>(in[0].integer[i]),
                           static_cast<std::uint64_t>(in[1].integer[i]));
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        out.integer[i] = f(in[0].integer[i], in[1].integer[i]);
    }
  }
};

// Two's complement bits, wide enough for every integer type.
template <typename T>
std::uint64_t bits(T x) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

template <typename T>
T quotient(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return static_cast<T>(0 - bits(a));
  return static_cast<T>(a / b);
}

template <typename T>
T remainder_of(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return T(0);
  return static_cast<T>(a % b);
}

template <typename T>
bool shift_is_wide(T by) {
  constexpr int width = std::is_same_v<T, bool> ? 1 : static_cast<int>(sizeof(T) * 8);
  return bits(by) >= static_cast<std::uint64_t>(width);
}

template <typename T>
T shifted_left(T a, T by) {
  return shift_is_wide(by) ? T(0) : static_cast<T>(bits(a) << bits(by));
}

template <typename T>
T shifted_right(T a, T by) {
  if (shift_is_wide(by)) return a < T(0) ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> bits(by));
}

// The upper half of the product of a and b as unsigned numbers.
template <typename T>
T upper_half(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return false;
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    using Wide = unsigned __int128;
    return static_cast<T>(Wide{Unsigned(a)} * Wide{Unsigned(b)} >> (8 * sizeof(T)));
  }
}

// NaN wins. With two zeros it is the first operand, as in PyTorch's clamp and relu.
template <typename T>
T smaller(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  return b < a ? b : a;
}
template <typename T>
T larger(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  return a < b ? b : a;
}

template <typename T>
std::int64_t saturated(double x) {
  if (std::isnan(x)) return 0;
  double whole = std::trunc(x);
  // 2^digits is exact, the largest integer below it may not be.
  if (whole >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return static_cast<std::int64_t>(std::numeric_limits<T>::max());
  if (whole <= static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<std::int64_t>(std::numeric_limits<T>::min());
  return static_cast<std::int64_t>(static_cast<T>(whole));
}

void cast_from_floating(const Work& w) {
  const double* in = w.in[0].floating;
  if (is_floating(w.result)) {
    with_arithmetic(w.result, [&](auto zero, auto store) {
      for (std::int64_t i = 0; i < w.count; ++i)
        w.out.floating[i] = store(static_cast<decltype(zero)>(in[i]));
    });
    return;
  }
  dispatch(w.result, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < w.count; ++i) w.out.integer[i] = in[i] != 0;
    } else if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < w.count; ++i) w.out.integer[i] = saturated<T>(in[i]);
    }
  });
}

void cast_from_integer(const Work& w) {
  const std::int64_t* in = w.in[0].integer;
  if (is_floating(w.result)) {
    with_arithmetic(w.result, [&](auto zero, auto store) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < w.count; ++i)
        w.out.floating[i] = w.operand == DType::u64
                                ? store(static_cast<T>(static_cast<std::uint64_t>(in[i])))
                                : store(static_cast<T>(in[i]));
    });
    return;
  }
  dispatch(w.result, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < w.count; ++i) w.out.integer[i] = in[i] != 0;
    } else if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < w.count; ++i)
        w.out.integer[i] = static_cast<std::int64_t>(static_cast<T>(in[i]));
    }
  });
}

std::uint64_t pattern_of(DType dtype, Column column, std::int64_t i) {
  if (!is_floating(dtype)) return static_cast<std::uint64_t>(column.integer[i]);
  return bits_of(dtype, column.floating[i]);
}

// a 2^floor(n), rounded once.
template <typename T>
T scaled(T a, T n) {
  if (std::isnan(n)) return n;
  // Beyond this every number but 0 and infinity has left the type.
  constexpr T most = 3 * std::numeric_limits<T>::max_exponent;
  return std::ldexp(a, static_cast<int>(std::clamp(std::floor(n), -most, most)));
}

void bitcast(const Work& w) {
  for (std::int64_t i = 0; i < w.count; ++i) {
    std::uint64_t pattern = pattern_of(w.operand, w.in[0], i);
    if (is_floating(w.result))
      w.out.floating[i] = value_of_bits(w.result, pattern);
    else
      w.out.integer[i] = Scalar::of_integer(w.result, static_cast<std::int64_t>(pattern)).integer;
  }
}

void select(const Work& w) {
  const std::int64_t* condition = w.in[0].integer;
  if (is_floating(w.operand)) {
    for (std::int64_t i = 0; i < w.count; ++i)
      w.out.floating[i] = condition[i] != 0 ? w.in[1].floating[i] : w.in[2].floating[i];
  } else {
    for (std::int64_t i = 0; i < w.count; ++i)
      w.out.integer[i] = condition[i] != 0 ? w.in[1].integer[i] : w.in[2].integer[i];
  }
}

void fma(const Work& w) {
  with_arithmetic(w.operand, [&](auto zero, auto store) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < w.count; ++i)
      w.out.floating[i] =
          store(std::fma(static_cast<T>(w.in[0].floating[i]), static_cast<T>(w.in[1].floating[i]),
                         static_cast<T>(w.in[2].floating[i])));
  });
}

}  // namespace

double round_to(DType dtype, double value) { return Scalar::of(dtype, value).floating; }

void evaluate_elements(Op op, DType operand, DType result, std::span<const Column> operands,
                       MutableColumn out, std::int64_t count) {
  Work w{operand, result, operands, out, count};
  const bool floating = is_floating(operand);
  // Runs the first function on floating elements, the second on integer ones.
  auto one = [&](auto f, auto g) { floating ? w.floats(f) : w.integers(g); };
  auto two = [&](auto f, auto g) { floating ? w.float_pairs(f) : w.integer_pairs(g); };
  switch (op) {
    case Op::neg_: return one([](auto x) { return -x; }, [](auto x) { return 0 - bits(x); });
    case Op::abs_:
      return one([](auto x) { return std::abs(x); },
                 [](auto x) { return x < decltype(x)(0) ? 0 - bits(x) : bits(x); });
    case Op::exp_: return w.transcendental([](double x) { return std::exp(x); });
    case Op::exp2_: return w.transcendental([](double x) { return std::exp2(x); });
    case Op::log_: return w.transcendental([](double x) { return std::log(x); });
    case Op::log2_: return w.transcendental([](double x) { return std::log2(x); });
    case Op::sin_: return w.transcendental([](double x) { return std::sin(x); });
    case Op::cos_: return w.transcendental([](double x) { return std::cos(x); });
    case Op::tanh_: return w.transcendental([](double x) { return std::tanh(x); });
    case Op::erf_: return w.transcendental([](double x) { return std::erf(x); });
    case Op::sigmoid_: return w.transcendental([](double x) { return 1 / (1 + std::exp(-x)); });
    case Op::sqrt_: return w.floats([](auto x) { return std::sqrt(x); });
    case Op::rsqrt_: return w.transcendental([](double x) { return 1 / std::sqrt(x); });
    case Op::floor_: return w.floats([](auto x) { return std::floor(x); });
    case Op::ceil_: return w.floats([](auto x) { return std::ceil(x); });
    case Op::round_: return w.floats([](auto x) { return std::rint(x); });
    case Op::not_:
      return w.integers(
          [](auto x) { return std::is_same_v<decltype(x), bool> ? bits(x) ^ 1U : ~bits(x); });
    case Op::cast_: return floating ? cast_from_floating(w) : cast_from_integer(w);
    case Op::bitcast_: return bitcast(w);
    case Op::add_:
      return two([](auto a, auto b) { return a + b; },
                 [](auto a, auto b) { return bits(a) + bits(b); });
    case Op::sub_:
      return two([](auto a, auto b) { return a - b; },
                 [](auto a, auto b) { return bits(a) - bits(b); });
    case Op::mul_:
      return two([](auto a, auto b) { return a * b; },
                 [](auto a, auto b) { return bits(a) * bits(b); });
    case Op::umulhi_: return w.integer_pairs([](auto a, auto b) { return upper_half(a, b); });
    case Op::random_bits_:
      return w.integer_pairs([](auto a, auto b) { return random_bits(bits(a), bits(b)); });
    case Op::div_:
      return two([](auto a, auto b) { return a / b; },
                 [](auto a, auto b) { return quotient(a, b); });
    case Op::rem_:
      return two([](auto a, auto b) { return std::fmod(a, b); },
                 [](auto a, auto b) { return remainder_of(a, b); });
    case Op::min_:
      return two([](auto a, auto b) { return smaller(a, b); },
                 [](auto a, auto b) { return a < b ? a : b; });
    case Op::max_:
      return two([](auto a, auto b) { return larger(a, b); },
                 [](auto a, auto b) { return a < b ? b : a; });
    case Op::ldexp_:
      return two([](auto a, auto n) { return scaled(a, n); }, [](auto a, auto) { return bits(a); });
    case Op::and_: return w.integer_pairs([](auto a, auto b) { return bits(a) & bits(b); });
    case Op::or_: return w.integer_pairs([](auto a, auto b) { return bits(a) | bits(b); });
    case Op::xor_: return w.integer_pairs([](auto a, auto b) { return bits(a) ^ bits(b); });
    case Op::shl_: return w.integer_pairs([](auto a, auto b) { return shifted_left(a, b); });
    case Op::shr_: return w.integer_pairs([](auto a, auto b) { return shifted_right(a, b); });
    case Op::eq_: return w.compare([](auto a, auto b) { return a == b; });
    case Op::ne_: return w.compare([](auto a, auto b) { return a != b; });
    case Op::lt_: return w.compare([](auto a, auto b) { return a < b; });
    case Op::le_: return w.compare([](auto a, auto b) { return a <= b; });
    case Op::gt_: return w.compare([](auto a, auto b) { return a > b; });
    case Op::ge_: return w.compare([](auto a, auto b) { return a >= b; });
    case Op::fma_: return fma(w);
    case Op::select_: return select(w);
    case Op::inline_asm_:
    case Op::offset_:
#define TILEWRIGHT_CASES_BESIDE_ELEMENTWISE
#include "dsl/ir/ops.def"
      break;
  }
  check(false, "the op has no meaning on single elements");
}

// The functions of single numbers (immediates.h), by those of columns.
Scalar evaluate(Op op, std::span<const Scalar> operands, DType result) {
  std::array<Column, 3> columns;
  check(!operands.empty() && operands.size() <= columns.size(), "an elementwise op has 1 to 3");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_floating(operands[i].dtype))
      columns[i].floating = &operands[i].floating;
    else
      columns[i].integer = &operands[i].integer;
  }
  Scalar out{result, 0, 0};
  MutableColumn column;
  if (is_floating(result))
    column.floating = &out.floating;
  else
    column.integer = &out.integer;
  evaluate_elements(op, operands.back().dtype, result, std::span(columns).first(operands.size()),
                    column, 1);
  return out;
}

Scalar combine(ReduceKind kind, const Scalar& a, const Scalar& b) {
  check(!gives_index(kind), "an index reduction does not combine elements");
  return evaluate(info(kind).combining_op, std::array{a, b}, a.dtype);
}

Scalar identity(ReduceKind kind, DType dtype) {
  // The least (or greatest) number of the type.
  auto extreme = [&](bool least) {
    double infinity = std::numeric_limits<double>::infinity();
    if (is_floating(dtype)) return Scalar::of(dtype, least ? -infinity : infinity);
    return dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        T edge = least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
        return Scalar::of_integer(dtype, static_cast<std::int64_t>(edge));
      }
      return Scalar{};
    });
  };
  switch (info(kind).identity) {
    case ReduceIdentity::zero: return Scalar::of_integer(dtype, 0);
    case ReduceIdentity::one: return Scalar::of_integer(dtype, 1);
    case ReduceIdentity::ones: return Scalar::of_integer(dtype, -1);
    case ReduceIdentity::lowest: return extreme(true);
    case ReduceIdentity::highest: return extreme(false);
  }
  __builtin_unreachable();
}

}  // namespace tilewright::ir
