// The matrix with ones along its diagonal, and matrices with rows and columns swapped.
#pragma once

#include "graph/compile/compile.h"

namespace tilewright::testing_matrices {

inline Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }
inline Tensor one(std::int64_t n) { return (arange(0, n).unsqueeze(1) == arange(0, n)).to(f32); }

}  // namespace tilewright::testing_matrices
