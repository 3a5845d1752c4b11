// Scales and zero points that are chosen by the range of the numbers to be quantised, under
// PyTorch's names (quantisation/affine.h), and quantisation there and back at once, as training
// with quantisation in mind has it.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "graph/functions/quantisation/affine.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

struct QuantizationParameters {
  Tensor scale, zero_point;
};

// For all of x: [1] each, f64 and i64. The scale is f32's, at least eps. Where it is symmetric the
// zero point is 0, and 128 of u8.
struct ChosenRange {
  std::int64_t least = -128, most = 127;
  double eps = 0x1p-23;
};
QuantizationParameters choose_qparams(const TensorOperand& x, const ChosenRange& range);
QuantizationParameters choose_qparams_symmetric(const TensorOperand& x, const ChosenRange& range,
                                                DType dtype = DType::i8);
// For each row [.., 1], of i8: symmetric, with zero points of the scales' dtype; or f64 and i64.
QuantizationParameters choose_qparams_per_token(const TensorOperand& x);
QuantizationParameters choose_qparams_per_token_asymmetric(const TensorOperand& x);

enum class AffineMapping : std::uint8_t {
  symmetric,                    // by the greatest magnitude
  symmetric_no_clipping_error,  // so that neither end is clipped
  asymmetric,                   // from the least to the greatest
};
struct AffineChoice {
  AffineMapping mapping = AffineMapping::asymmetric;
  QuantizedType type = {};
  std::optional<double> eps = {};  // of scales; the least normal number of f16, or f32's of others
  bool keep_dims = false;          // scales have an axis for each of x
  std::optional<DType> scale_dtype = {};       // x's
  std::optional<DType> zero_point_dtype = {};  // i32 where asymmetric, else the scale's before it
};
// For each block (dequantize_affine).
QuantizationParameters choose_qparams_affine(const TensorOperand& x, const Shape& block_size,
                                             const AffineChoice& choice);

// Quantised and back, in x's dtype, and which elements were within the range: bool. Scale and zero
// point are numbers, or tensors of one element; of channels [size] along the axis.
struct FakeRange {
  std::int64_t least = 0, most = 255;
};
std::pair<Tensor, Tensor> fake_quantize_per_tensor_affine_cachemask(const TensorOperand& x,
                                                                    const TensorOperand& scale,
                                                                    const TensorOperand& zero_point,
                                                                    const FakeRange& range);
std::pair<Tensor, Tensor> fake_quantize_per_channel_affine_cachemask(const TensorOperand& x,
                                                                     const Tensor& scale,
                                                                     const Tensor& zero_point,
                                                                     int axis,
                                                                     const FakeRange& range);
// x itself, all of it within, where `enabled`, of one element, is 0.
std::pair<Tensor, Tensor> fake_quantize_per_tensor_affine_cachemask(const TensorOperand& x,
                                                                    const TensorOperand& scale,
                                                                    const TensorOperand& zero_point,
                                                                    const Tensor& enabled,
                                                                    const FakeRange& range);
// The first of these alone.
Tensor fake_quantize_per_tensor_affine(const TensorOperand& x, const TensorOperand& scale,
                                       const TensorOperand& zero_point, const FakeRange& range);
Tensor fake_quantize_per_channel_affine(const TensorOperand& x, const Tensor& scale,
                                        const Tensor& zero_point, int axis, const FakeRange& range);

}  // namespace tilewright
