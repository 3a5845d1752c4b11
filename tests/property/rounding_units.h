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
// The greatest finite number; infinite for those of double, in which the oracle works.
inline double greatest(DType dtype) {
  if (dtype == DType::f8e4m3) return 448;
  if (dtype == DType::f8e5m2) return 57344;
  if (dtype == DType::f16) return 65504;
  return dtype == DType::f64 ? unknown : static_cast<double>(std::numeric_limits<float>::max());
}
inline double gamma(double n, double u) { return n * u / (1 - n * u); }
// Infinity is exact.
inline double rounding(DType dtype, double magnitude) {
  if (std::isinf(magnitude)) return 0;
  return is_floating(dtype) ? unit(dtype) * magnitude + least(dtype) : 0;
}

inline double magnitude(const BoundedTensor& x, std::int64_t i) {
  return std::abs(x.value.number(i)) + x.error[static_cast<std::size_t>(i)];
}

// Bounds of a pointwise op of two operands, for one element a of error ea and b of error eb.
double binary_error(const Node& node, double a, double ea, double b, double eb, double y);
// Bounds of what a pointwise op gives, y.
std::vector<double> pointwise_error(const Node& node, const HostTensor& y, const Operands& x,
                                    Choices choices);
// The results of an attention or its gradient with their bounds; `y` is the value. A gradient is
// bounded by its formula.
BoundedTensor bound_attention(const Node& node, const HostTensor& y, const Operands& x);
// Bounds of what a convolution does.
std::vector<double> convolution_error(const Graph& graph, NodeId id, const HostTensor& y,
                                      const Operands& x);

}  // namespace tilewright::graph
