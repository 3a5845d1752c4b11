// Rows with ties and special numbers, and their order by std::stable_sort.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::testing_sorting {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();
inline const float none = std::numeric_limits<float>::quiet_NaN();

// Numbers with ties, both zeros, infinities and NaN of both signs.
inline Floats mixed(std::int64_t count) {
  Floats x;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const float special[] = {0.0F, -0.0F, infinity, -infinity, none, -none};
    const std::uint32_t dice = state >> 8;
    x.push_back(dice % 11 == 0 ? special[dice / 11 % 6]
                               : static_cast<float>(dice % 2001) / 16 - 60);
  }
  return x;
}

// The order of rows of `size` elements, by a sort that is known to be right.
inline Integers places_in_order(const std::vector<double>& x, std::int64_t size, bool descending) {
  Integers places(x.size());
  auto comes_before = [&](std::int64_t a, std::int64_t b) {
    if (descending) std::swap(a, b);
    double left = x[static_cast<std::size_t>(a)], right = x[static_cast<std::size_t>(b)];
    return left < right || (!std::isnan(left) && std::isnan(right));
  };
  for (std::int64_t row = 0; row < std::ssize(x); row += size) {
    auto begin = places.begin() + row;
    std::iota(begin, begin + size, row);
    std::stable_sort(begin, begin + size, comes_before);
    for (auto place = begin; place != begin + size; ++place) *place -= row;
  }
  return places;
}

using Both = std::pair<Tensor, Tensor>;
using Function = std::function<Both(const Tensor&)>;
inline std::vector<Both> in_both_ways(const Function& function, const Tensor& x) {
  return {function(x), compile(function, {.fullgraph = true})(x)};
}

inline std::vector<double> doubles(const Tensor& x) { return x.to(f64).to_vector<double>(); }

// Values must be those at the places, bit for bit, signs of zeros and NaN among them.
inline void expect_elements(const std::vector<double>& values, const std::vector<double>& x,
                            const Integers& places, std::int64_t size, std::int64_t count) {
  ASSERT_EQ(values.size(), places.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / count;
    const double wanted = x[static_cast<std::size_t>(row * size + places[i])];
    ASSERT_TRUE(values[i] == wanted || (std::isnan(values[i]) && std::isnan(wanted))) << i;
    ASSERT_EQ(std::signbit(values[i]), std::signbit(wanted)) << i;
  }
}

}  // namespace tilewright::testing_sorting
