// Winograd's transform of the rows of a convolution, F(2, 3): two rows of results from four
// products in place of six.
//
// For rows d0 to d3 of x and the rows g0 to g2 of a filter, whose windows lie one row apart,
//
//   y0 = d0 g0 + d1 g1 + d2 g2        y1 = d1 g0 + d2 g1 + d3 g2
//
// are sums of four products, each of one combination of rows of x and one of rows of the filter:
//
//   p0 = (d0 - d2) g0                  p1 = (d1 + d2) (g0 + g1 + g2) / 2
//   p3 = (d3 - d1) g2                  p2 = (d2 - d1) (g0 - g1 + g2) / 2
//
//   y0 = p0 + (p1 + p2)                y1 = p3 + (p1 - p2)
//
// A product is a matrix product over channels and the columns of a window. Filters are transformed
// once, where they are packed; x in the copy that windows are read from in any case. Halving is
// exact, so that results are exact where those of whole numbers are. For normal numbers they are
// about as far from the exact ones as plain sums are, since each sum is shorter (576 products: 1.2
// units of f32 times the sum of their magnitudes at most, as against 1.3).
//
// But an error is small beside what all of d times all of g comes to: where rows differ by factors
// of thousands, a small row beside a large one is lost, even under a filter that does not look at
// the large one. An infinity, or a sum of two rows beyond f32, gives NaN in both results. So plain
// products are the default, and this is what MatmulPrecision::high lets a host do.
//
// Sources: S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015, which nest it along both axes.
#pragma once

#include <array>
#include <cstdint>

namespace tilewright::graph::winograd {

inline constexpr std::int64_t taps = 3, results = 2, products = results + taps - 1;

// Rows of a filter as the products have them; of numbers, or of tiles.
template <typename T>
std::array<T, products> filters(const T& g0, const T& g1, const T& g2) {
  const T ends = g0 + g2;
  return {g0, (ends + g1) * 0.5F, (ends - g1) * 0.5F, g2};
}

// Product `number` of four rows of x.
template <typename Rows>
auto of_x(const Rows& d, std::int64_t number) {
  switch (number) {
    case 0: return d[0] - d[2];
    case 1: return d[1] + d[2];
    case 2: return d[2] - d[1];
    default: return d[3] - d[1];
  }
}

}  // namespace tilewright::graph::winograd
