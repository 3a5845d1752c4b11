// Quantisation as ONNX defines it (QuantizeLinear and its family): quotients are true ones, results
// saturate at the ends of their type, which may be floats of 8 bits, and scales stand for all of a
// tensor, for the places of an axis, or for blocks along it. Products of integers are exact sums.
//
// Apart from affine.h, whose functions multiply by inverses as PyTorch does, so that halves fall
// otherwise. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The largest finite number of a dtype of floats of 8 bits.
double largest_float8(DType dtype);
// x as floats of 8 bits; what is beyond their range, infinities too, becomes its ends.
Tensor saturated(const TensorOperand& x, DType dtype);
// x as floats of 8 bits; numbers beyond their range become infinite, or NaN where the dtype has no
// infinities. A cast (`x.to(dtype)`) differs in f8e4m3, where it saturates.
Tensor not_saturated(const TensorOperand& x, DType dtype);

struct QuantizeLinearOptions {
  int axis = 1;                  // along which there are several scales
  std::int64_t block_size = 0;   // of elements along it that share one; 0: each place has its own
  DType dtype = DType::u8;       // integers, or floats of 8 bits, which have no zero point
  DType precision = DType::f32;  // of the quotient
  bool saturate = true;          // of floats; integers always are
};
// scale and zero point of one element, [size] along the axis, or as x but for blocks along it; the
// zero point may be undefined.
Tensor quantize_linear(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                       const QuantizeLinearOptions& options = {});
struct DequantizeLinearOptions {
  int axis = 1;
  std::int64_t block_size = 0;
  DType dtype = DType::f32;
};
// Differences of integers are exact; the product is f32's, rounded once.
Tensor dequantize_linear(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                         const DequantizeLinearOptions& options = {});

// x rounded to 8 bits by the range that it has, 0 among it.
struct DynamicallyQuantized {
  Tensor steps;              // 0 to 255, as f32
  Tensor scale, zero_point;  // f32, without axes; the zero point is one of the steps
};
DynamicallyQuantized dynamic_quantize_linear(const TensorOperand& x);
// By a range for each place of the other axes: along these axes scales and zero points have size 1.
DynamicallyQuantized dynamic_quantize_linear(const TensorOperand& x, const std::vector<int>& axes);

// Integers with a scale and a zero point, of one element, or [size] along an axis.
struct LinearOperand {
  Tensor integers, scale, zero_point;
};
// What a result becomes: of the zero point's dtype.
struct LinearResult {
  Tensor scale, zero_point;
};
// Matrices [.., M, K] and [.., K, N] with scales for all, or for rows of a and columns of b.
Tensor quantized_matmul(const LinearOperand& a, const LinearOperand& b, const LinearResult& result,
                        std::source_location w = std::source_location::current());

namespace graph {

// The integers less their zero points along an axis, exact, in f64.
Tensor centred(const LinearOperand& x, int axis, std::source_location w);
// Sums of products of integers by scales of one element or along `axis` each, as integers again.
Tensor requantized(const Tensor& sums, const Tensor& scale_of_a, int axis_of_a,
                   const Tensor& scale_of_b, int axis_of_b, const LinearResult& result,
                   std::source_location w);

}  // namespace graph
}  // namespace tilewright
