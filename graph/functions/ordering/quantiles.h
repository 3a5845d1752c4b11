// Quantiles under PyTorch's names: what lies between two elements in order.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

// What a place between two elements gives.
enum class QuantileInterpolation : std::uint8_t { linear, lower, higher, nearest, midpoint };
struct QuantileOptions {
  std::optional<int> axis = {};  // of all elements without one
  bool keep_dims = false;
  QuantileInterpolation interpolation = QuantileInterpolation::linear;
};
// x, floats; q a number from 0 to 1, or a tensor [Q] or without axes. Gives [Q.., the other axes],
// with the axis as 1 where it is kept. A row with a NaN is NaN; `nanquantile` passes over NaN, and
// is NaN of these alone.
Tensor quantile(const TensorOperand& x, const TensorOperand& q,
                const QuantileOptions& options = {});
Tensor nanquantile(const TensorOperand& x, const TensorOperand& q,
                   const QuantileOptions& options = {});

}  // namespace tilewright
