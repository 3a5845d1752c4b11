// Operators of ONNX Runtime (com.microsoft) on integers of 8 bits with a scale and a zero point
// (graph/functions/quantisation/rescaled.h).
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "models/onnx/runtime/integers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace runtime_quantised_rows {
namespace {

// What the result is in: the scale and zero point from that input on.
ScaledForm form_of(const Call& call, std::size_t input, DType dtype) {
  return {scale_of(call, input), zero_of(call, input + 1, dtype), dtype};
}
ScaledForm form_as(const Call& call, std::size_t input, const ScaledIntegers& x) {
  return form_of(call, input, x.integers.dtype());
}

using OfTwo = Tensor (*)(const ScaledIntegers&, const ScaledIntegers&, const ScaledForm&,
                         std::source_location);
template <OfTwo function>
constexpr auto of_two = [](const Call& c) {
  const ScaledIntegers a = integers_from(c, 0), b = integers_from(c, 3);
  return function(a, b, form_as(c, 6, a), std::source_location::current());
};

// `opset` says which Softmax it stands for: before 13 it is over all axes from the named one on.
Tensor shares(const Call& call) {
  const ScaledIntegers x = integers_from(call, 0);
  const int rank = x.integers.rank();
  require(rank > 0, "[onnx] a softmax of one number has no axis");
  const bool is_over_rest = call.integer("opset") < 13;
  const int axis = call.axis_within("axis", is_over_rest ? 1 : -1, rank);
  std::vector<int> axes = {axis};
  for (int i = axis + 1; is_over_rest && i < rank; ++i) axes.push_back(i);
  return rescaled_softmax(x, axes, form_as(call, 3, x));
}

Tensor joined(const Call& call) {
  require(call.count() >= 5 && call.count() % 3 == 2, "[onnx] ", call.count(),
          " inputs; a scale and a zero point are wanted, and three inputs for each part");
  std::vector<ScaledIntegers> parts;
  for (std::size_t i = 2; i < call.count(); i += 3) parts.push_back(integers_from(call, i));
  const int axis = call.axis_within("axis", {}, parts[0].integers.rank());
  return rescaled_cat(parts, axis, form_as(call, 0, parts[0]));
}
Tensor chosen(const Call& call) {
  require(is_boolean(call.dtype(0)), "[onnx] the condition is ", call.dtype(0), "; bool is wanted");
  const ScaledIntegers x = integers_from(call, 1), y = integers_from(call, 4);
  return rescaled_where(call.tensor(0), x, y, form_as(call, 7, x));
}

Tensor means_over_windows(const Call& call) {
  const ScaledIntegers x = integers_from(call, 0);
  const bool is_last = call.flag("channels_last", false);
  require(x.integers.rank() >= 3, "[onnx] [", x.integers.shape(),
          "] has no axes besides batch and channels");
  if (call.flag("ceil_mode", false) && call.flag("count_include_pad", false))
    call.refuse("ceil_mode", "is not supported where padding counts");
  const Tensor numbers = is_last ? with_channels_first(x.numbers()) : x.numbers();
  const Tensor result = form_as(call, 3, x).with_zero(averaged_over_windows(call, numbers));
  return is_last ? with_channels_last(result) : result;
}
Tensor means_of_all(const Call& call) {
  const ScaledIntegers x = integers_from(call, 0);
  std::vector<int> axes = places_of(x.integers);
  if (call.flag("channels_last", false))
    for (int& axis : axes) --axis;
  return rescaled_mean(x, axes, form_as(call, 3, x));
}

// Without a scale of the result its numbers are given, as f32.
Tensor general_product(const Call& call) {
  ScaledIntegers a = integers_from(call, 0);
  Tensor b = integers_of(call, 3);
  require(a.integers.rank() == 2 && b.rank() == 2, "[onnx] [", a.integers.shape(), "] and [",
          b.shape(), "] are no matrices");
  if (call.flag("transA", false)) a.integers = a.integers.transpose(0, 1);
  if (call.flag("transB", false)) b = b.transpose(0, 1);
  const ScaledGemm product{a,
                           {b, scales_of_columns(call, 4, b.size(1)), zeros_of_columns(call, b, 5)},
                           call.optional_tensor(6),
                           call.number("alpha", 1)};
  require(call.has(7) == call.has(8),
          "[onnx] the result has a scale or a zero point alone; both are wanted, or none");
  return call.has(7) ? rescaled_gemm(product, form_as(call, 7, a)) : scaled_gemm(product);
}

Tensor product_by_range(const Call& call) {
  const Tensor b = integers_of(call, 1);
  return dynamic_scaled_matmul(
      call.tensor(0), {b, scales_of_columns(call, 2, b.size(-1)), zeros_of_columns(call, b, 3)},
      call.optional_tensor(4));
}

constexpr Operator rows[] = {
    {"com.microsoft.DynamicQuantizeMatMul", 1, by<product_by_range>},
    {"com.microsoft.MatMulIntegerToFloat", 1,
     [](const Call& c) {
       return product_of_integers(c, {0, 1, 2, 3, 4, 5}, c.optional_tensor(6));
     }},
    {"com.microsoft.QGemm", 1, by<general_product>},
    {"com.microsoft.QLinearAdd", 1, of_two<rescaled_add>},
    {"com.microsoft.QLinearAveragePool", 1, by<means_over_windows>},
    {"com.microsoft.QLinearConcat", 1, by<joined>},
    {"com.microsoft.QLinearGlobalAveragePool", 1, by<means_of_all>},
    {"com.microsoft.QLinearLeakyRelu", 1,
     [](const Call& c) {
       const ScaledIntegers x = integers_from(c, 0);
       return rescaled_leaky_relu(x, c.number("alpha", 0.01), form_as(c, 3, x));
     }},
    {"com.microsoft.QLinearMul", 1, of_two<rescaled_mul>},
    {"com.microsoft.QLinearSigmoid", 1,
     [](const Call& c) {
       const ScaledIntegers x = integers_from(c, 0);
       return rescaled_sigmoid(x, form_as(c, 3, x));
     }},
    {"com.microsoft.QLinearSoftmax", 1, by<shares>},
    {"com.microsoft.QLinearWhere", 1, by<chosen>},
};

}  // namespace
}  // namespace runtime_quantised_rows

std::span<const Operator> runtime_quantised_operators() { return runtime_quantised_rows::rows; }

}  // namespace tilewright::onnx
