#include "graph/functions/quantisation/affine.h"

#include <cmath>
#include <limits>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Blocks;
using graph::IntegerRange;
using std::source_location;

namespace graph {

Tensor IntegerRange::clamp(const Tensor& x) const { return clamp_max(clamp_min(x, least), most); }

IntegerRange range_of(const QuantizedType& type, std::string_view operation, source_location w) {
  require(is_integer(type.dtype) && (bit_width(type.dtype) < 32 || type.dtype == DType::i32), "[",
          operation, "] the integers are ", type.dtype, " (at ", At{w},
          "); integers of at most 32 bits are wanted");
  const int bits = bit_width(type.dtype) - is_signed(type.dtype);
  const std::int64_t greatest = (std::int64_t{1} << bits) - 1,
                     lowest = is_signed(type.dtype) ? -greatest - 1 : 0;
  const IntegerRange range{type.least.value_or(lowest), type.most.value_or(greatest)};
  require(range.least >= lowest && range.most <= greatest && range.least <= range.most, "[",
          operation, "] the range is from ", range.least, " to ", range.most, " (at ", At{w}, "); ",
          type.dtype, " has ", lowest, " to ", greatest);
  return range;
}

Blocks blocks_of(const Tensor& x, const Shape& block_size, std::string_view operation,
                 source_location w) {
  require(block_size.rank() == x.rank(), "[", operation, "] the block size is [", block_size,
          "], of a tensor [", x.shape(), "] (at ", At{w}, "); a number an axis is wanted");
  Blocks blocks;
  auto add = [&](std::int64_t size, bool is_within) {
    if (is_within) blocks.axes.push_back(blocks.shape.rank());
    blocks.shape.push_back(size);
    blocks.scales.push_back(is_within ? 1 : size);
  };
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t size = x.size(i), block = block_size[i] == -1 ? size : block_size[i];
    require(block == size || (block >= 1 && size % block == 0), "[", operation,
            "] the block size has ", block, " along an axis of ", size, " (at ", At{w},
            "); it must divide that");
    blocks.counts.push_back(block == 0 ? 1 : size / block);
    if (block == size || block == 1) {
      add(size, block != 1);
    } else {
      add(size / block, false);
      add(block, true);
    }
  }
  return blocks;
}

Tensor along_channels(const Tensor& values, const Tensor& x, int axis, std::string_view operation,
                      source_location w) {
  const int channels = axis_of(axis, x.shape(), operation, w);
  require(values.rank() == 1 && values.size(0) == x.size(channels), "[", operation,
          "] scales or zero points are [", values.shape(), "], for axis ", channels, " of [",
          x.shape(), "] (at ", At{w}, "); [", x.size(channels), "] is wanted");
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[channels] = values.count();
  return values.reshape(along);
}
Tensor one_element(const Tensor& value, std::string_view what, std::string_view operation,
                   source_location w) {
  require(value.defined() && value.count() == 1, "[", operation, "] ", what, " is ",
          value.defined() ? concat("[", value.shape(), "]") : "undefined", " (at ", At{w},
          "); one element is wanted");
  return value.reshape({});
}

}  // namespace graph

namespace {

Tensor real_operand(const TensorOperand& x, const char* operation) {
  const Tensor& given = graph::tensor_of(x, operation);
  require(is_floating(given.dtype()), "[", operation, "] x is ", given.dtype(), " (at ",
          At{x.where}, "); it must be floating");
  return given;
}
Tensor widened(const Tensor& x) { return is_float16(x.dtype()) ? x.to(DType::f32) : x; }

// The inverse of a number is rounded to x's dtype alone.
TensorOperand inverse_of(const TensorOperand& scale, const char* operation) {
  if (!scale.is_number)
    return 1.0 / graph::one_element(scale.tensor, "the scale", operation, scale.where);
  const double value = scale.number.as_double();
  require(value != 0 && std::isfinite(value), "[", operation, "] the scale is ", value, " (at ",
          At{scale.where}, "); a finite number other than 0 is wanted");
  return 1.0 / value;
}
TensorOperand zero_of(const TensorOperand& zero_point, const char* operation) {
  if (zero_point.is_number) return zero_point;
  return graph::one_element(zero_point.tensor, "the zero point", operation, zero_point.where);
}

// How scales meet x: one for each row, or for each group of elements of a row, repeated along it.
Tensor along_rows(const Tensor& values, const Tensor& x, const char* operation, source_location w) {
  Shape shape = x.shape();
  require(shape.rank() > 0, "[", operation, "] x has no axes (at ", At{w}, "); rows are wanted");
  shape[shape.rank() - 1] = 1;
  require(values.count() == element_count(shape), "[", operation, "] scales or zero points are [",
          values.shape(), "] (at ", At{w}, "); [", shape, "] is wanted");
  return values.reshape(shape);
}
Tensor along_groups(const Tensor& values, const Tensor& x, std::int64_t size, const char* operation,
                    source_location w) {
  require(x.rank() == 2, "[", operation, "] x is [", x.shape(), "] (at ", At{w},
          "); a matrix is wanted");
  const std::int64_t rows = x.size(0), columns = x.size(1);
  if (size > columns && values.rank() > 0 && values.size(-1) == 1) size = columns;
  require(size >= 1 && columns % size == 0, "[", operation, "] the group size is ", size, " (at ",
          At{w}, "); it must divide ", columns);
  const std::int64_t groups = columns / size;
  require(values.count() == rows * groups, "[", operation, "] scales or zero points are [",
          values.shape(), "] (at ", At{w}, "); ", rows * groups, " elements are wanted");
  return values.reshape({rows, groups, 1}).expand({rows, groups, size}).reshape({rows, columns});
}

Tensor quantized_behind_zero(const Tensor& x, const Tensor& scales, const Tensor& zero_points,
                             const IntegerRange& range, DType dtype) {
  return range.clamp(round(x * (1.0 / scales) + zero_points)).to(dtype);
}
// Differences are of integers, and exact; the type is that of the scales until the end.
Tensor dequantized(const Tensor& x, const Tensor& scales, const Tensor& zero_points, DType dtype) {
  Tensor wide = x.to(scales.dtype());
  if (zero_points.defined()) wide = wide - zero_points.to(scales.dtype());
  return (wide * scales).to(dtype);
}

}  // namespace

Tensor quantize_per_tensor(const TensorOperand& x, const TensorOperand& scale,
                           const TensorOperand& zero_point, const QuantizedType& type) {
  constexpr const char* name = "quantize_per_tensor";
  const IntegerRange range = graph::range_of(type, name, x.where);
  const Tensor steps = round(widened(real_operand(x, name)) * inverse_of(scale, name));
  return range.clamp(steps + zero_of(zero_point, name)).to(type.dtype);
}
Tensor quantize_per_tensor(const TensorOperand& x, const Tensor& scale, const Tensor& zero_point,
                           const Tensor& least, const Tensor& most, DType dtype) {
  constexpr const char* name = "quantize_per_tensor";
  auto one = [&](const Tensor& value, const char* what) {
    return graph::one_element(value, what, name, x.where);
  };
  graph::range_of({dtype}, name, x.where);
  const Tensor steps = round(widened(real_operand(x, name)) * (1.0 / one(scale, "the scale"))) +
                       one(zero_point, "the zero point");
  return minimum(maximum(steps, one(least, "the least integer")), one(most, "the greatest integer"))
      .to(dtype);
}
Tensor dequantize_per_tensor(const TensorOperand& x, const TensorOperand& scale,
                             const TensorOperand& zero_point, DType dtype) {
  constexpr const char* name = "dequantize_per_tensor";
  const Tensor wide = graph::tensor_of(x, name).to(dtype) - zero_of(zero_point, name);
  if (!scale.is_number) return wide * graph::one_element(scale.tensor, "the scale", name, x.where);
  inverse_of(scale, name);  // looks at the number
  return wide * scale;
}

Tensor quantize_per_channel(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                            int axis, const QuantizedType& type) {
  constexpr const char* name = "quantize_per_channel";
  const IntegerRange range = graph::range_of(type, name, x.where);
  const Tensor given = widened(real_operand(x, name));
  auto seen = [&](const Tensor& values) {
    return graph::along_channels(values, given, axis, name, x.where);
  };
  Tensor steps = round(given * (1.0 / seen(scales)));
  if (zero_points.defined()) steps = steps + seen(zero_points);
  return range.clamp(steps).to(type.dtype);
}
Tensor dequantize_per_channel(const TensorOperand& x, const Tensor& scales,
                              const Tensor& zero_points, int axis, DType dtype) {
  constexpr const char* name = "dequantize_per_channel";
  const Tensor& given = graph::tensor_of(x, name);
  auto seen = [&](const Tensor& values) {
    return graph::along_channels(values, given, axis, name, x.where);
  };
  return dequantized(given, seen(scales), zero_points.defined() ? seen(zero_points) : Tensor(),
                     dtype);
}

Tensor quantize_per_token(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                          const QuantizedType& type) {
  constexpr const char* name = "quantize_per_token";
  const Tensor given = real_operand(x, name);
  return quantized_behind_zero(given, along_rows(scales, given, name, x.where),
                               along_rows(zero_points, given, name, x.where),
                               graph::range_of(type, name, x.where), type.dtype);
}
Tensor dequantize_per_token(const TensorOperand& x, const Tensor& scales, const Tensor& zero_points,
                            DType dtype) {
  constexpr const char* name = "dequantize_per_token";
  const Tensor& given = graph::tensor_of(x, name);
  auto seen = [&](const Tensor& values) { return along_rows(values, given, name, x.where); };
  return dequantized(given, seen(scales), zero_points.defined() ? seen(zero_points) : Tensor(),
                     dtype);
}
Tensor quantize_per_channel_group(const TensorOperand& x, const Tensor& scales,
                                  const Tensor& zero_points, std::int64_t group_size,
                                  const QuantizedType& type) {
  constexpr const char* name = "quantize_per_channel_group";
  const Tensor given = real_operand(x, name);
  return quantized_behind_zero(given, along_groups(scales, given, group_size, name, x.where),
                               along_groups(zero_points, given, group_size, name, x.where),
                               graph::range_of(type, name, x.where), type.dtype);
}
Tensor dequantize_per_channel_group(const TensorOperand& x, const Tensor& scales,
                                    const Tensor& zero_points, std::int64_t group_size,
                                    DType dtype) {
  constexpr const char* name = "dequantize_per_channel_group";
  const Tensor& given = graph::tensor_of(x, name);
  auto seen = [&](const Tensor& values) {
    return along_groups(values, given, group_size, name, x.where);
  };
  return dequantized(given, seen(scales), zero_points.defined() ? seen(zero_points) : Tensor(),
                     dtype);
}

namespace {

Tensor of_blocks(const Tensor& values, const Blocks& blocks, const char* operation,
                 source_location w) {
  require(values.count() == element_count(blocks.scales), "[", operation,
          "] scales or zero points are [", values.shape(), "] (at ", At{w}, "); there are ",
          element_count(blocks.scales), " blocks");
  return values.reshape(blocks.scales);
}

}  // namespace

Tensor quantize_affine(const TensorOperand& x, const Shape& block_size, const Tensor& scale,
                       const Tensor& zero_point, const QuantizedType& type) {
  constexpr const char* name = "quantize_affine";
  const IntegerRange range = graph::range_of(type, name, x.where);
  const Tensor given = real_operand(x, name);
  const Blocks blocks = graph::blocks_of(given, block_size, name, x.where);
  Tensor steps =
      round(given.reshape(blocks.shape) * (1.0 / of_blocks(scale, blocks, name, x.where)));
  if (zero_point.defined()) steps = steps + of_blocks(zero_point, blocks, name, x.where);
  return range.clamp(steps).reshape(given.shape()).to(type.dtype);
}
Tensor dequantize_affine(const TensorOperand& x, const Shape& block_size, const Tensor& scale,
                         const Tensor& zero_point, DType dtype) {
  constexpr const char* name = "dequantize_affine";
  const Tensor& given = graph::tensor_of(x, name);
  const Blocks blocks = graph::blocks_of(given, block_size, name, x.where);
  Tensor wide = given.reshape(blocks.shape).to(dtype);
  if (zero_point.defined()) wide = wide - of_blocks(zero_point, blocks, name, x.where).to(dtype);
  return (wide * of_blocks(scale, blocks, name, x.where)).reshape(given.shape()).to(dtype);
}

}  // namespace tilewright
