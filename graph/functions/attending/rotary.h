// Rotary positions (J. Su and others: RoFormer, 2021): pairs of elements of queries and keys turned
// by angles that grow with the place, as ONNX's RotaryEmbedding has them.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// x [B, H, T, D], of which the first `2 * half` elements of the last axis are turned: neighbours
// where `interleaved`, else those of two halves. cos and sin are [B or 1, T, half].
Tensor rotary_embedding(const TensorOperand& x, const Tensor& cos, const Tensor& sin,
                        bool interleaved = false);
// By the rows of tables [places, half] that `places`, integers [B or 1, T], name.
Tensor rotary_embedding(const TensorOperand& x, const Tensor& places, const Tensor& cos,
                        const Tensor& sin, bool interleaved = false);

}  // namespace tilewright
