#include "graph/functions/quantisation/linear.h"

#include <algorithm>
#include <limits>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// A scale or zero point in a shape that broadcasts to x.
struct Spread {
  const Tensor& x;
  int axis;
  std::int64_t block;
  const char* operation;
  source_location where;

  Tensor operator()(const Tensor& values) const {
    if (values.count() == 1) return values.reshape({});
    const int along = graph::axis_of(axis, x.shape(), operation, where);
    return block == 0 ? of_places(values, along) : of_blocks(values, along);
  }

 private:
  Tensor of_places(const Tensor& values, int along) const {
    require(values.rank() == 1 && values.count() == x.size(along), "[", operation, "] scales [",
            values.shape(), "] for axis ", along, " of [", x.shape(), "] (at ", At{where},
            "); one element, or ", x.size(along), ", are wanted");
    Shape sizes(static_cast<std::size_t>(x.rank()), 1);
    sizes[along] = values.count();
    return values.reshape(sizes);
  }
  Tensor of_blocks(const Tensor& values, int along) const {
    require(values.rank() == x.rank() && block > 0 && block <= x.size(along) &&
                values.size(along) == (x.size(along) + block - 1) / block,
            "[", operation, "] scales [", values.shape(), "] for blocks of ", block, " along axis ",
            along, " of [", x.shape(), "] (at ", At{where},
            "); a scale for each block is wanted, and blocks of 1 to ", x.size(along));
    Shape apart = values.shape(), wide = values.shape(), whole = values.shape();
    apart.insert(apart.begin() + along + 1, 1);
    wide.insert(wide.begin() + along + 1, block);
    whole[along] *= block;
    return values.reshape(apart).expand(wide).reshape(whole).slice(along, 0, x.size(along));
  }
};

// Rounded to the nearest, halves to even, and to the ends of the dtype's range.
Tensor rounded(const Tensor& quotient, const Tensor& zero, DType dtype, bool saturates) {
  if (is_floating(dtype))
    return saturates ? saturated(quotient, dtype) : not_saturated(quotient, dtype);
  const Tensor steps = round(quotient);
  return (zero.defined() ? steps + zero.to(DType::f32) : steps).to(dtype);
}

Tensor scale_along(const Tensor& scale, int rank, int axis) {
  if (scale.count() == 1) return scale.reshape({}).to(DType::f32);
  Shape along(static_cast<std::size_t>(rank), 1);
  along[axis] = scale.count();
  return scale.reshape(along).to(DType::f32);
}

}  // namespace

double largest_float8(DType dtype) {
  return dtype == f8e4m3 ? 448 : dtype == f8e4m3fnuz ? 240 : 57344;
}

Tensor saturated(const TensorOperand& x, DType dtype) {
  const Tensor& given = graph::tensor_of(x, "saturated");
  require(is_float8(dtype), "[saturated] the dtype is ", dtype, " (at ", At{x.where},
          "); floats of 8 bits are wanted");
  const double most = largest_float8(dtype);
  return clamp(given.to(DType::f32), -most, most).to(dtype);
}

Tensor not_saturated(const TensorOperand& x, DType dtype) {
  const Tensor& given = graph::tensor_of(x, "not_saturated");
  require(is_float8(dtype), "[not_saturated] the dtype is ", dtype, " (at ", At{x.where},
          "); floats of 8 bits are wanted");
  if (dtype != f8e4m3) return given.to(dtype);
  // 464 still rounds to 448.
  const Tensor wide = given.to(DType::f32);
  return where(abs(wide) > 464.0, std::numeric_limits<double>::quiet_NaN(), wide).to(dtype);
}

Tensor quantize_linear(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                       const QuantizeLinearOptions& options) {
  const Tensor& given = graph::tensor_of(x, "quantize_linear");
  const Spread spread{given, options.axis, options.block_size, "quantize_linear", x.where};
  const Tensor zero = zero_point.defined() ? spread(zero_point) : Tensor();
  const Tensor quotient = given.to(options.precision) / spread(scale).to(options.precision);
  return rounded(quotient.to(DType::f32), zero, options.dtype, options.saturate);
}
Tensor dequantize_linear(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                         const DequantizeLinearOptions& options) {
  const Tensor& given = graph::tensor_of(x, "dequantize_linear");
  const Spread spread{given, options.axis, options.block_size, "dequantize_linear", x.where};
  Tensor steps =
      is_floating(given.dtype()) ? given.to(DType::f32) : given.to(DType::i32).to(DType::f32);
  if (zero_point.defined() && !is_floating(zero_point.dtype()))
    steps = (given.to(DType::i32) - spread(zero_point).to(DType::i32)).to(DType::f32);
  return (steps * spread(scale).to(DType::f32)).to(options.dtype);
}

// All of one number have the scale 1, so that 0 stays 0.
static DynamicallyQuantized quantized_by_range(const Tensor& x, const Tensor& lowest,
                                               const Tensor& highest) {
  const Tensor least = minimum(lowest, 0.0), most = maximum(highest, 0.0);
  const Tensor scale = where(most == least, 1.0, (most - least) / 255.0);
  const Tensor zero = clamp(round(-least / scale), 0.0, 255.0);
  return {clamp(round(x / scale) + zero, 0.0, 255.0), scale, zero};
}
DynamicallyQuantized dynamic_quantize_linear(const TensorOperand& operand) {
  const Tensor& x = graph::tensor_of(operand, "dynamic_quantize_linear");
  return quantized_by_range(x, amin(x), amax(x));
}
DynamicallyQuantized dynamic_quantize_linear(const TensorOperand& operand,
                                             const std::vector<int>& axes) {
  const Tensor& x = graph::tensor_of(operand, "dynamic_quantize_linear");
  return quantized_by_range(x, amin(x, axes, true), amax(x, axes, true));
}

Tensor quantized_matmul(const LinearOperand& a, const LinearOperand& b, const LinearResult& result,
                        source_location w) {
  const int rows = std::max(a.integers.rank() - 2, 0);
  const Tensor sums =
      matmul({graph::centred(a, rows, w), w}, {graph::centred(b, b.integers.rank() - 1, w), w});
  return graph::requantized(sums, a.scale, rows, b.scale, sums.rank() - 1, result, w);
}

namespace graph {

Tensor centred(const LinearOperand& x, int axis, source_location w) {
  const Tensor wide = x.integers.to(DType::f64), zero = x.zero_point.to(DType::f64);
  if (zero.count() == 1) return wide - zero.reshape({});
  require(zero.count() == wide.size(axis), "[quantized product] zero points [", zero.shape(),
          "] for axis ", axis, " of [", wide.shape(), "] (at ", At{w}, "); one, or ",
          wide.size(axis), ", are wanted");
  Shape along(static_cast<std::size_t>(wide.rank()), 1);
  along[axis] = zero.count();
  return wide - zero.reshape(along);
}
Tensor requantized(const Tensor& sums, const Tensor& scale_of_a, int axis_of_a,
                   const Tensor& scale_of_b, int axis_of_b, const LinearResult& result,
                   source_location w) {
  require(result.scale.defined() && result.zero_point.defined(),
          "[quantized product] the result's scale or zero point is undefined (at ", At{w},
          "); both are wanted");
  const Tensor scale = scale_along(scale_of_a, sums.rank(), axis_of_a) *
                       scale_along(scale_of_b, sums.rank(), axis_of_b) /
                       result.scale.to(DType::f32);
  return rounded(sums.to(DType::f32) * scale, result.zero_point, result.zero_point.dtype(), true);
}

}  // namespace graph
}  // namespace tilewright
