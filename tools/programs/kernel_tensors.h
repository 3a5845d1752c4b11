// What the tables of named kernels are written with: types, and functions that several name.
#pragma once

#include <vector>

#include "graph/tensor/functional.h"

namespace tilewright::tools {

inline constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
using Tensors = std::vector<Tensor>;

inline Tensor softmax_of(const Tensors& a) { return softmax(a[0], -1); }
inline Tensor linear_of(const Tensors& a) { return linear(a[0], a[1]); }

}  // namespace tilewright::tools
