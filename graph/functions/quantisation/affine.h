// Real numbers as integers with a scale and a zero point, and back, under PyTorch's names
// (torch.ops.quantized_decomposed, and torchao's affine ones, whose scales stand for blocks of any
// shape):
//
//   integer = clamp(round(x / scale) + zero point)          x = (integer - zero point) * scale
//
// rounded to the nearest, and to the even one of two. Products and layers whose weights stay
// integers in memory are another matter (graph/functions/quantized.h).
//
// x is floating; 16 bits are taken as f32 where it is said of a function. What is divided by a
// scale is multiplied by its inverse, as PyTorch does, so that halves fall alike. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// What a quantised tensor is made of: an integer type of at most 32 bits, and what of its range is
// used; all of it unless it says less.
struct QuantizedType {
  DType dtype = DType::i8;
  std::optional<std::int64_t> least = {}, most = {};
};

// With one scale and zero point, which are numbers or tensors of one element. 16 bits as f32.
Tensor quantize_per_tensor(const TensorOperand& x, const TensorOperand& scale,
                           const TensorOperand& zero_point, const QuantizedType& type);
// The same within bounds that are tensors of one element.
Tensor quantize_per_tensor(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                           const Tensor& least, const Tensor& most, DType dtype);
Tensor dequantize_per_tensor(const TensorOperand& x, const TensorOperand& scale,
                             const TensorOperand& zero_point, DType dtype = DType::f32);

// With one for each place of an axis: scales and zero points [size]. Where zero points are
// undefined they are 0. What is dequantised is computed in the scales' dtype. 16 bits as f32.
Tensor quantize_per_channel(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                            int axis, const QuantizedType& type);
Tensor dequantize_per_channel(const TensorOperand& x, const Tensor& scales,
                              const Tensor& zero_points, int axis, DType dtype = DType::f32);
// With one for each row [.., 1], and of a matrix for each `group_size` elements of a row [rows,
// groups]. Rounded behind the zero point, which may lie between two integers.
Tensor quantize_per_token(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                          const QuantizedType& type);
Tensor dequantize_per_token(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                            DType dtype = DType::f32);
Tensor quantize_per_channel_group(const TensorOperand& x, const Tensor& scales,
                                  const Tensor& zero_points, std::int64_t group_size,
                                  const QuantizedType& type);
Tensor dequantize_per_channel_group(const TensorOperand& x, const Tensor& scales,
                                    const Tensor& zero_points, std::int64_t group_size,
                                    DType dtype = DType::f32);

// With one for each block: `block_size` has the elements of one along each axis, which it divides;
// -1 is the whole axis. As many scales as there are blocks; zero points may be undefined.
Tensor quantize_affine(const TensorOperand& x, const Shape& block_size, const Tensor& scale,
                       const Tensor& zero_point, const QuantizedType& type);
Tensor dequantize_affine(const TensorOperand& x, const Shape& block_size, const Tensor& scale,
                         const Tensor& zero_point, DType dtype = DType::f32);

namespace graph {

// The ends of that type's range, which `type` narrows. Raises `Error` for another type than those,
// and for bounds outside of its range.
struct IntegerRange {
  std::int64_t least, most;
  Tensor clamp(const Tensor& x) const;
};
IntegerRange range_of(const QuantizedType& type, std::string_view operation,
                      std::source_location w);

// The blocks of a tensor that have a scale each: the shape in which these lie behind each other
// where there are several along an axis, which axes are within a block, the shape of scales that
// broadcasts to that, and that which has an axis for each of x.
struct Blocks {
  Shape shape, scales, counts;
  std::vector<int> axes;
};
Blocks blocks_of(const Tensor& x, const Shape& block_size, std::string_view operation,
                 std::source_location w);

// `values` as they broadcast to x: one for each place of the axis.
Tensor along_channels(const Tensor& values, const Tensor& x, int axis, std::string_view operation,
                      std::source_location w);
// A tensor of one element without axes.
Tensor one_element(const Tensor& value, std::string_view what, std::string_view operation,
                   std::source_location w);

}  // namespace graph
}  // namespace tilewright
