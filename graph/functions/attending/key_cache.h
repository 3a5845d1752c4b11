// Caches of the keys and values of former steps, to which each row of the batch may write at a
// place of its own, as the operators of ONNX and ONNX Runtime have them. Nothing is written in
// place.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

// [B, H, capacity, D]: the rows x [B, H, T, D] at the places from `from` [B, 1] on, i64; before
// them those of `past`, which has at most as many rows or is undefined; behind them 0.
Tensor rows_in_cache(const Tensor& past, const TensorOperand& x, const Tensor& from,
                     std::int64_t capacity);

// The cache [B, ..] with the update's elements along the axis from a place of each of the batch on,
// integers [B]; both have the same sizes in other axes. Elements behind the end are left out, or go
// to the front where it `wraps`. ONNX's TensorScatter.
Tensor tensor_scatter(const TensorOperand& cache, const Tensor& update, const Tensor& places,
                      int axis, bool wraps = false);

}  // namespace tilewright
