#include "models/onnx/runtime/integers.h"

#include "models/onnx/program/zero_points.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

bool is_of_8_bits(DType dtype) { return is_integer(dtype) && bit_width(dtype) == 8; }
// One for all, or one for each column of a matrix [.., K, columns], as it broadcasts to that.
Tensor of_columns(const Call& call, std::size_t input, std::int64_t columns) {
  const Tensor values = call.tensor(input);
  if (values.count() == 1) return values.reshape({});
  require(values.size(-1) == columns, "[onnx] input ", input, ", a scale or zero point, is [",
          values.shape(), "]; one is wanted, or one for each of ", columns, " columns");
  return values;
}

}  // namespace

Tensor integers_of(const Call& call, std::size_t input) {
  require(is_of_8_bits(call.dtype(input)), "[onnx] input ", input, " is ", call.dtype(input),
          "; integers of 8 bits are wanted");
  return call.tensor(input);
}
Tensor scale_of(const Call& call, std::size_t input) {
  require(call.dtype(input) == f32 && element_count(call.shape(input)) == 1, "[onnx] input ", input,
          ", a scale, is ", call.dtype(input), " [", call.shape(input), "]; one f32 is wanted");
  return call.tensor(input).reshape({});
}
Tensor zero_of(const Call& call, std::size_t input, DType dtype) {
  if (!call.has(input)) return zeros({});
  require(call.dtype(input) == dtype && element_count(call.shape(input)) == 1, "[onnx] input ",
          input, ", a zero point, is ", call.dtype(input), " [", call.shape(input), "]; one ",
          dtype, " is wanted");
  return call.tensor(input).reshape({}).to(f32);
}

ScaledIntegers integers_from(const Call& call, std::size_t input) {
  const Tensor integers = integers_of(call, input);
  return {integers, scale_of(call, input + 1), zero_of(call, input + 2, integers.dtype())};
}

Tensor scales_of_columns(const Call& call, std::size_t input, std::int64_t columns) {
  require(call.dtype(input) == f32, "[onnx] input ", input, ", a scale, is ", call.dtype(input),
          "; f32 is wanted");
  return of_columns(call, input, columns);
}
Tensor zeros_of_columns(const Call& call, const Tensor& matrix, std::size_t zero_input) {
  if (!call.has(zero_input)) return {};
  require(call.dtype(zero_input) == matrix.dtype(), "[onnx] input ", zero_input,
          ", a zero point, is ", call.dtype(zero_input), "; ", matrix.dtype(), " is wanted");
  if (known_zero(call, zero_input, matrix.size(-1))) return {};
  return of_columns(call, zero_input, matrix.size(-1));
}

Tensor product_of_integers(const Call& call, const ProductInputs& inputs, const Tensor& bias) {
  const Tensor a = integers_of(call, inputs.a), b = integers_of(call, inputs.b);
  const ScaledIntegers left{a, scale_of(call, inputs.a_scale),
                            zero_of(call, inputs.a_zero, a.dtype())};
  return scaled_matmul(left,
                       {b, scales_of_columns(call, inputs.b_scale, b.size(-1)),
                        zeros_of_columns(call, b, inputs.b_zero)},
                       bias);
}

}  // namespace tilewright::onnx
