// From which elements of an axis, and with which weights, each element of an axis of another size
// is made: its taps. They follow from the sizes alone, so that in a graph they are computed and no
// data. Several axes are resampled one after the other.
//
// Places are computed in f32, or in f64 for elements of f64, as PyTorch computes them, so that
// which element is the nearest is decided as there.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/functions/pointwise/formula.h"

namespace tilewright::graph {

// One axis: element i of the result lies at (i + 0.5) * size / result - 0.5, or with the inverse of
// the factor for that quotient. With aligned corners the first and the last elements of both lie on
// each other.
struct AxisSampling {
  std::int64_t size, result;
  std::optional<double> factor;
  bool align_corners = false;
};

enum class NearestForm : std::uint8_t {
  from_start,   // i * size / result rounded down, PyTorch's "nearest"
  from_middle,  // (i + 0.5) * size / result rounded down, its "nearest-exact"
};
// Elements as they are, of any dtype.
Tensor nearest_along(const Tensor& x, int axis, const AxisSampling& sampling, NearestForm form,
                     std::source_location w);

// Up to so many taps of an element are written out as terms.
constexpr std::int64_t most_terms = 16;

enum class TapForm : std::uint8_t { linear, cubic };
// x is of f32 or f64. With `antialias` the filter is as wide as an element of the result where the
// axis becomes shorter.
Tensor tapped_along(const Tensor& x, int axis, const AxisSampling& sampling, TapForm form,
                    bool antialias, std::source_location w);

// Weights of the cubic convolution with that sharpness, of a distance in elements: Keys (1981).
Formula cubic_weight(const Formula& distance, double sharpness);
constexpr double sharpness_of_cubic = -0.75, sharpness_of_wide_cubic = -0.5;

}  // namespace tilewright::graph
