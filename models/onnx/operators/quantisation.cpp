// Numbers as integers of few bits with scales, there and back, and products of such.
#include <algorithm>

#include "models/onnx/operators/convolution.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace quantisation_rows {
namespace {

// A scale or zero point in a shape that broadcasts to x: of all, of each part along the axis, or of
// blocks along it.
Tensor spread(const Tensor& values, const Tensor& x, std::int64_t axis_given, std::int64_t block,
              const Call& call) {
  if (values.count() == 1) return values.reshape({});
  int axis = call.within(axis_given, x.rank());
  if (block == 0) {
    require(values.rank() == 1 && values.count() == x.size(axis), "[onnx] scales [", values.shape(),
            "] for axis ", axis, " of [", x.shape(), "]; one element, or ", x.size(axis),
            ", are wanted");
    Shape along(static_cast<std::size_t>(x.rank()), 1);
    along[axis] = values.count();
    return values.reshape(along);
  }
  require(values.rank() == x.rank() && block > 0 && block <= x.size(axis) &&
              values.size(axis) == (x.size(axis) + block - 1) / block,
          "[onnx] scales [", values.shape(), "] for blocks of ", block, " along axis ", axis,
          " of [", x.shape(), "]; a scale for each block is wanted, and blocks of 1 to ",
          x.size(axis));
  Shape apart = values.shape(), wide = values.shape(), whole = values.shape();
  apart.insert(apart.begin() + axis + 1, 1);
  wide.insert(wide.begin() + axis + 1, block);
  whole[axis] *= block;
  return values.reshape(apart).expand(wide).reshape(whole).slice(axis, 0, x.size(axis));
}

// Rounded to the nearest, halves to even, and to the ends of the dtype's range.
Tensor rounded(const Tensor& quotient, const Tensor& zero, DType dtype, bool saturates = true) {
  if (is_floating(dtype)) return saturates ? saturated(quotient, dtype) : quotient.to(dtype);
  Tensor steps = round(quotient);
  return (zero.defined() ? steps + zero.to(f32) : steps).to(dtype);
}

// The attribute, where 0 says that there is none.
DType floats_of(const Call& call, std::string_view name, DType missing) {
  if (call.integer(name, 0) == 0) return missing;
  const DType dtype = call.dtype(name);
  if (!is_floating(dtype) || size_bytes(dtype) < 2)
    call.refuse(name, concat("is ", dtype, "; floats of 16 bits or more are supported"));
  return dtype;
}

Tensor quantised(const Call& call) {
  Tensor x = call.tensor(0), scale = call.tensor(1), zero = call.optional_tensor(2);
  std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  bool saturates = call.flag("saturate", true);
  DType dtype = u8;
  if (call.has("output_dtype") && call.integer("output_dtype") != 0)
    dtype = call.dtype("output_dtype");
  if (zero.defined()) {
    dtype = zero.dtype();
    zero = spread(zero, x, axis, block, call);
  }
  const DType precision = floats_of(call, "precision", f32);
  Tensor quotient = x.to(precision) / spread(scale, x, axis, block, call).to(precision);
  return rounded(quotient.to(f32), zero, dtype, saturates);
}
Tensor dequantised(const Call& call) {
  Tensor x = call.tensor(0), scale = call.tensor(1), zero = call.optional_tensor(2);
  std::int64_t axis = call.integer("axis", 1), block = call.integer("block_size", 0);
  DType dtype = floats_of(call, "output_dtype", scale.dtype());
  Tensor steps = is_floating(x.dtype()) ? x.to(f32) : x.to(i32).to(f32);
  if (zero.defined() && !is_floating(zero.dtype()))
    steps = (x.to(i32) - spread(zero, x, axis, block, call).to(i32)).to(f32);
  return (steps * spread(scale, x, axis, block, call).to(f32)).to(dtype);
}
Results quantised_by_range(const Call& call) {
  ByRange found = rounded_by_range(call.tensor(0));
  return {found.steps.to(u8), found.scale, found.zero.to(u8)};
}

// x less its zero point, of rows or channels along the axis, exact.
Tensor centred(const Call& call, std::size_t input, int axis) {
  Tensor x = call.tensor(input), zero = call.tensor(input + 2).to(f64);
  if (zero.count() == 1) return x.to(f64) - zero.reshape({});
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[axis] = zero.count();
  return x.to(f64) - zero.reshape(along);
}
Tensor scale_along(const Tensor& scale, int rank, int axis) {
  if (scale.count() == 1) return scale.reshape({}).to(f32);
  Shape along(static_cast<std::size_t>(rank), 1);
  along[axis] = scale.count();
  return scale.reshape(along).to(f32);
}
Tensor product_of_quantised(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(3);
  Tensor product =
      matmul(centred(call, 0, std::max(a.rank() - 2, 0)), centred(call, 3, b.rank() - 1));
  Tensor scale = scale_along(call.tensor(1), product.rank(), std::max(a.rank() - 2, 0)) *
                 scale_along(call.tensor(4), product.rank(), product.rank() - 1) /
                 call.tensor(6).to(f32);
  Tensor zero = call.tensor(7);
  return rounded(product.to(f32) * scale, zero, zero.dtype());
}
// ONNX Runtime's may have channels last.
Tensor convolution_of_quantised(const Call& call) {
  const bool is_last = call.flag("channels_last", false);
  Tensor x = centred(call, 0, is_last ? call.rank(0) - 1 : 1), weight = centred(call, 3, 0);
  if (is_last) x = with_channels_first(x);
  Tensor bias = call.has(8) ? call.tensor(8).to(f64) : Tensor();
  Tensor sums = convolved(call, x, weight, bias);
  Tensor scale = scale_along(call.tensor(1), sums.rank(), 1) *
                 scale_along(call.tensor(4), sums.rank(), 1) / call.tensor(6).to(f32);
  Tensor zero = call.tensor(7);
  const Tensor result = rounded(sums.to(f32) * scale, zero, zero.dtype());
  return is_last ? with_channels_last(result) : result;
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

// All of one number have the scale 1, so that 0 stays 0.
ByRange rounded_by_range(const Tensor& x) {
  Tensor least = minimum(amin(x), 0.0), most = maximum(amax(x), 0.0);
  Tensor scale = where(most == least, 1.0, (most - least) / 255.0);
  Tensor zero = clamp(round(-least / scale), 0.0, 255.0);
  return {clamp(round(x / scale) + zero, 0.0, 255.0), scale, zero};
}

std::span<const Operator> quantisation_operators() { return quantisation_rows::rows; }

}  // namespace tilewright::onnx
