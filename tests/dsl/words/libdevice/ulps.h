// Measures functions over numbers of all kinds, in units in the last place of what C computes in
// long double, in every way that there is to run a kernel.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "tests/dsl/words/every_way.h"

namespace tilewright::dsl {

using Wide = long double;
inline constexpr Wide pi = 3.14159265358979323846264338327950288L;

template <typename T>
constexpr T none = std::numeric_limits<T>::quiet_NaN();
template <typename T>
constexpr T infinity = std::numeric_limits<T>::infinity();

// How many units in the last place of `expected` the result is off; infinite where one is a NaN, an
// infinity or a zero of some sign, and the other is not.
template <typename T>
double ulps(T y, Wide expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded)) return std::isnan(y) ? 0 : HUGE_VAL;
  if (y == rounded && std::signbit(y) == std::signbit(rounded)) return 0;
  if (!std::isfinite(y) || (rounded == 0 && y == 0)) return HUGE_VAL;
  if (std::signbit(y) != std::signbit(rounded)) return HUGE_VAL;
  if (!std::isfinite(rounded)) return y == std::numeric_limits<T>::max() ? 1 : HUGE_VAL;
  const int exponent = std::max(expected == 0 ? -20000 : std::ilogb(expected),
                                std::numeric_limits<T>::min_exponent - 1);
  const Wide unit = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<Wide>(y) - expected) / unit);
}

// Zeros, infinities, NaN, subnormal numbers, small fractions, and numbers of all exponents; a fixed
// list, as long as a power of two.
template <typename T>
std::vector<T> numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{0,
                   T(-0.0),
                   1,
                   -1,
                   2,
                   -2,
                   T(0.5),
                   T(-0.5),
                   3,
                   -3,
                   T(1.5),
                   T(-2.5),
                   8,
                   1000,
                   infinity<T>,
                   -infinity<T>,
                   none<T>,
                   Limits::denorm_min(),
                   -Limits::denorm_min(),
                   Limits::min(),
                   Limits::max(),
                   Limits::lowest(),
                   170,
                   -170,
                   T(1) - Limits::epsilon(),
                   T(1) + Limits::epsilon(),
                   T(0.999),
                   T(-0.999),
                   27,
                   T(1e-3)};
  std::mt19937_64 random(5);
  auto fraction = [&] { return static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53); };
  while (x.size() < 220) x.push_back((fraction() * 2 - 1) * T(1.25));
  while (x.size() < 320) x.push_back((fraction() * 2 - 1) * T(30));
  while (x.size() < 380) x.push_back((fraction() * 2 - 1) * T(sizeof(T) == 4 ? 100 : 750));
  while (x.size() < 512) {
    const int exponent = static_cast<int>(
        random() % static_cast<unsigned>(Limits::max_exponent - Limits::min_exponent + 20));
    x.push_back(std::ldexp(1 + fraction(), exponent + Limits::min_exponent - 20) *
                T(random() % 2 == 0 ? 1 : -1));
  }
  return x;
}

struct Function {
  const char* name;
  Tile (*word)(const Operand&);
  Wide (*meaning)(Wide);
  double float_ulps, double_ulps;
  // Subnormal results of f32 may be 0, as those of exp are on GPUs.
  bool may_flush = false;
};

template <typename T>
void expect_functions(const std::vector<Function>& functions) {
  const std::vector<T> x = numbers<T>();
  const auto count = static_cast<std::int64_t>(x.size());
  constexpr std::int64_t some = 64;
  in_every_way(
      [&](Pointer x, Pointer out) {
        // Some at a time, as some of the functions are many instructions.
        for (Tile begin : range(0, count, some))
          for (std::size_t i = 0; i < functions.size(); ++i)
            put(out + (begin + static_cast<std::int64_t>(i) * count),
                functions[i].word(block(x + begin, {some})));
      },
      [&](const std::vector<T>& x, const std::vector<T>& out) {
        for (std::size_t i = 0; i < functions.size(); ++i) {
          const double most = sizeof(T) == 4 ? functions[i].float_ulps : functions[i].double_ulps;
          double worst = 0;
          T at = 0, given = 0;
          for (std::size_t j = 0; j < x.size(); ++j) {
            const T y = out[i * x.size() + j];
            const Wide expected = functions[i].meaning(static_cast<Wide>(x[j]));
            const bool is_small = std::abs(expected) < std::numeric_limits<T>::min();
            if (functions[i].may_flush && sizeof(T) == 4 && is_small && y == 0) continue;
            const double off = ulps(y, expected);
            if (off > worst) worst = off, at = x[j], given = y;
          }
          EXPECT_LE(worst, most) << functions[i].name << " of " << at << " is " << given;
          testing::Test::RecordProperty(functions[i].name, std::to_string(worst));
        }
      },
      x, std::vector<T>(x.size() * functions.size()));
}

using PairWord = Tile (*)(const Operand&, const Operand&);
struct PairFunction {
  const char* name;
  PairWord word;
  Wide (*meaning)(Wide, Wide);
  double most;
};

// Each number with another of like size, with a far one, and the special ones with each other.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  const std::vector<T> all = numbers<T>();
  std::vector<T> a = all, b;
  for (std::size_t i = 0; i < all.size(); ++i) b.push_back(all[(i * 7 + 3) % all.size()]);
  for (std::size_t i = 0; i < 22; ++i)
    for (std::size_t j = 0; j < 22; ++j) a.push_back(all[i]), b.push_back(all[j]);
  while (a.size() < 1024) a.push_back(all[a.size() % 300]), b.push_back(all[a.size() % 299]);
  return {a, b};
}

template <typename T>
void expect_pairs(const std::vector<PairFunction>& functions) {
  const auto [a, b] = pairs<T>();
  const auto count = static_cast<std::int64_t>(a.size());
  in_every_way(
      [&](Pointer a, Pointer b, Pointer out) {
        for (std::size_t i = 0; i < functions.size(); ++i)
          put(out + static_cast<std::int64_t>(i) * count,
              functions[i].word(block(a, {count}), block(b, {count})));
      },
      [&](const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& out) {
        for (std::size_t i = 0; i < functions.size(); ++i)
          for (std::size_t j = 0; j < a.size(); ++j) {
            const T y = out[i * a.size() + j];
            const Wide expected = functions[i].meaning(a[j], b[j]);
            EXPECT_LE(ulps(y, expected), functions[i].most)
                << functions[i].name << " of " << a[j] << " and " << b[j] << " is " << y;
            if (testing::Test::HasFailure()) return;
          }
      },
      a, b, std::vector<T>(a.size() * functions.size()));
}

}  // namespace tilewright::dsl
