// Masks of attention that are made of other things: lengths, places in a cache, and the forms in
// which ONNX Runtime hides keys.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The sizes of scores, without heads.
struct ScoreSizes {
  std::int64_t batch, rows, keys;
};
// f32 [B, 1, 1 or T, S]: `hidden` for keys that the mask, i32, hides, else 0. It is [B, S] or
// [B, T, S], 0 or less where it hides; or [B], the number of keys in front that are seen; or [2 B],
// all these numbers and behind them the places of the first keys that are seen.
Tensor bias_of_mask(const TensorOperand& mask, const ScoreSizes& sizes, double hidden);

// f32 [B, 1, T, S]: the least float for keys behind the place of their row, i64 [B, T], and those
// `window` or more in front of it, else 0. Window 0 is no limit.
Tensor bias_of_places(const TensorOperand& rows, std::int64_t keys, std::int64_t window = 0);

// bool, broadcast to [B, H, T, S]: true for the first keys, of which each of the batch has a
// number, [B]. If `causal`, the last row stands at the last of these, and rows see no key behind
// their own.
Tensor keys_within(const TensorOperand& counts, const ScoreSizes& sizes, bool causal);

// A mask, bool or floats to be added, that hides also the keys that are not `seen`. Either may be
// undefined.
Tensor joined_mask(const Tensor& seen, const Tensor& mask);
// The sum of two tensors, of which either may be undefined.
Tensor joined_bias(const Tensor& a, const Tensor& b);

}  // namespace tilewright
