// Compares functions of tensors, at once and compiled, with independent ones on single numbers:
// over arguments of all magnitudes and signs, and those that are no numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::testing_values {

template <typename T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <typename T>
constexpr T none = std::numeric_limits<T>::quiet_NaN();

// From both sides of 0 over magnitudes from `least` to `most`, and what is special.
template <typename T>
std::vector<T> arguments(T least = T(1e-30), T most = T(1e30)) {
  std::vector<T> result = {0,  -T(0), 1,  -1,          T(0.5),       T(-0.5), 2,
                           -2, 3,     -3, infinity<T>, -infinity<T>, none<T>};
  for (T x = least; x < most; x *= T(1.37)) result.insert(result.end(), {x, -x});
  for (T x = T(0.01); x < 4; x += T(0.0613)) result.insert(result.end(), {x, -x});
  return result;
}

// The allowed distance of a result from the wanted number: units in its last place, and an absolute
// error.
struct Bound {
  double units = 4;
  double absolute = 0;
};

template <typename T>
void expect_near(T got, long double wanted, const Bound& bound, const std::string& what) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got;
    return;
  }
  const T rounded = static_cast<T>(wanted);
  if (got == rounded) return;
  // For results at the end of the range, infinity is near.
  if (std::isinf(got) && std::abs(wanted) > 0.999999L * std::numeric_limits<T>::max()) return;
  ASSERT_TRUE(std::isfinite(got) && std::isfinite(rounded))
      << what << " is " << got << ", not " << rounded;
  int exponent = wanted == 0
                     ? std::numeric_limits<T>::min_exponent - 1
                     : std::max(std::ilogb(wanted), std::numeric_limits<T>::min_exponent - 1);
  long double unit = std::scalbn(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  EXPECT_LE(std::abs(got - wanted), bound.units * unit + bound.absolute)
      << what << " is " << got << ", not " << rounded;
}

template <typename T>
Tensor column(const std::vector<T>& x) {
  return Tensor::from(x, {static_cast<std::int64_t>(x.size())});
}

template <typename T>
void expect_unary(const std::function<Tensor(const Tensor&)>& function,
                  const std::function<long double(long double)>& wanted, const Bound& bound,
                  const std::vector<T>& x) {
  Tensor given = column(x);
  auto compiled = compile(function);
  for (const Tensor& y : {function(given), compiled(given)}) {
    std::vector<T> got = y.to_vector<T>();
    for (std::size_t i = 0; i < x.size(); ++i)
      expect_near(got[i], wanted(x[i]), bound, "of " + std::to_string(x[i]));
  }
}

template <typename T>
void expect_binary(const std::function<Tensor(const Tensor&, const Tensor&)>& function,
                   const std::function<long double(long double, long double)>& wanted,
                   const Bound& bound, const std::vector<T>& x) {
  std::vector<T> left, right;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x.size(); k += i < 16 ? 1 : 7) {
      left.push_back(x[i]);
      right.push_back(x[k]);
    }
  Tensor a = column(left), b = column(right);
  auto compiled = compile(function);
  for (const Tensor& y : {function(a, b), compiled(a, b)}) {
    std::vector<T> got = y.to_vector<T>();
    for (std::size_t i = 0; i < left.size(); ++i)
      expect_near(got[i], wanted(left[i], right[i]), bound,
                  "of " + std::to_string(left[i]) + " and " + std::to_string(right[i]));
  }
}

}  // namespace tilewright::testing_values
