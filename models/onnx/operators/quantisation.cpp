// Numbers as integers of few bits with scales, there and back, and products of such
// (graph/functions/quantisation/linear.h).
#include "graph/functions/quantisation/linear.h"

#include "models/onnx/operators/convolution.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace quantisation_rows {
namespace {

// The attribute, where 0 says that there is none.
DType floats_of(const Call& call, std::string_view name, DType missing) {
  if (call.integer(name, 0) == 0) return missing;
  const DType dtype = call.dtype(name);
  if (!is_floating(dtype) || size_bytes(dtype) < 2)
    call.refuse(name, concat("is ", dtype, "; floats of 16 bits or more are supported"));
  return dtype;
}

Tensor quantised(const Call& call) {
  const Tensor zero = call.optional_tensor(2);
  QuantizeLinearOptions options{.axis = call.axis("axis", 1),
                                .block_size = call.integer("block_size", 0),
                                .precision = floats_of(call, "precision", f32),
                                .saturate = call.flag("saturate", true)};
  if (call.has("output_dtype") && call.integer("output_dtype") != 0)
    options.dtype = call.dtype("output_dtype");
  if (zero.defined()) options.dtype = zero.dtype();
  return quantize_linear(call.tensor(0), call.tensor(1), zero, options);
}
Tensor dequantised(const Call& call) {
  const Tensor scale = call.tensor(1);
  return dequantize_linear(call.tensor(0), scale, call.optional_tensor(2),
                           {.axis = call.axis("axis", 1),
                            .block_size = call.integer("block_size", 0),
                            .dtype = floats_of(call, "output_dtype", scale.dtype())});
}
Results quantised_by_range(const Call& call) {
  const DynamicallyQuantized found = dynamic_quantize_linear(call.tensor(0));
  return {found.steps.to(u8), found.scale, found.zero_point.to(u8)};
}

LinearOperand operand_of(const Call& call, std::size_t input) {
  return {call.tensor(input), call.tensor(input + 1), call.tensor(input + 2)};
}
LinearResult result_of(const Call& call) { return {call.tensor(6), call.tensor(7)}; }

Tensor product_of_quantised(const Call& call) {
  return quantized_matmul(operand_of(call, 0), operand_of(call, 3), result_of(call));
}
// ONNX Runtime's may have channels last.
Tensor convolution_of_quantised(const Call& call) {
  const auto here = std::source_location::current();
  const bool is_last = call.flag("channels_last", false);
  const LinearOperand given = operand_of(call, 0), filters = operand_of(call, 3);
  Tensor x = graph::centred(given, is_last ? call.rank(0) - 1 : 1, here);
  if (is_last) x = with_channels_first(x);
  const Tensor sums = convolved(call, x, graph::centred(filters, 0, here),
                                call.has(8) ? call.tensor(8).to(f64) : Tensor());
  const Tensor y =
      graph::requantized(sums, given.scale, 1, filters.scale, 1, result_of(call), here);
  return is_last ? with_channels_last(y) : y;
}

constexpr Operator rows[] = {
    {"DequantizeLinear", 10, by<dequantised>},
    {"DynamicQuantizeLinear", 11, by<quantised_by_range>},
    {"QLinearConv", 10, by<convolution_of_quantised>},
    {"QLinearMatMul", 10, by<product_of_quantised>},
    {"QuantizeLinear", 10, by<quantised>},
    // With integers of 16 bits before ONNX had them.
    {"com.microsoft.DequantizeLinear", 1, by<dequantised>},
    {"com.microsoft.QLinearConv", 1, by<convolution_of_quantised>},
    {"com.microsoft.QuantizeLinear", 1, by<quantised>},
};

}  // namespace
}  // namespace quantisation_rows

std::span<const Operator> quantisation_operators() { return quantisation_rows::rows; }

}  // namespace tilewright::onnx
