// How much one rounding is, for those who bound the errors of ops.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "tests/property/error_bound.h"

namespace tilewright::graph {

using Operands = std::vector<const BoundedTensor*>;
inline constexpr double unknown = std::numeric_limits<double>::infinity();

// Unit roundoff. The oracle works in double itself, so that f64 counts for both sides.
inline double unit(DType dtype) {
  if (is_float8(dtype)) return std::ldexp(1.0, -digits(dtype));
  if (dtype == DType::f16) return 0x1p-11;
  if (dtype == DType::bf16) return 0x1p-8;
  return dtype == DType::f64 ? 0x1p-51 : 0x1p-24;
}
inline double accumulator_unit(DType dtype) { return dtype == DType::f64 ? 0x1p-51 : 0x1p-24; }
inline double least(DType dtype) {
  if (is_float8(dtype)) return std::ldexp(1.0, 1 - exponent_bias(dtype) - digits(dtype));
  if (dtype == DType::f16) return 0x1p-25;
  return dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
}
inline double gamma(double n, double u) { return n * u / (1 - n * u); }
inline double rounding(DType dtype, double magnitude) {
  return is_floating(dtype) ? unit(dtype) * magnitude + least(dtype) : 0;
}

inline double magnitude(const BoundedTensor& x, std::int64_t i) {
  return std::abs(x.value.number(i)) + x.error[static_cast<std::size_t>(i)];
}

// Bounds of what scaled_dot_product_attention gives.
std::vector<double> attention_error(const Node& node, const HostTensor& y, const Operands& x);
// And of what a convolution does.
std::vector<double> convolution_error(const Graph& graph, NodeId id, const HostTensor& y,
                                      const Operands& x);

}  // namespace tilewright::graph
