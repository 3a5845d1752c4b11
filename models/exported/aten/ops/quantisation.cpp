// Quantised programs: real numbers as integers with a scale and a zero point, and back.
//
// PyTorch's quantised programs compute in floating point between a quantisation and its inverse,
// which say where a device may compute with integers instead (`quantized_decomposed`, and torchao's
// affine ones, whose scales stand for blocks of any shape). What is computed here is what they
// mean:
//
//   integer = clamp(round(x / scale) + zero point)          x = (integer - zero point) * scale
//
// rounding to the nearest, and to the even one of two.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "graph/functions/pointwise/arithmetic.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace quantisation_rows {
namespace {

// What of an integer type a call uses; all of it unless it says less.
struct IntegerRange {
  std::int64_t least, most;
  Tensor clamp(const Tensor& x) const { return clamp_max(clamp_min(x, least), most); }
};
IntegerRange range_of(const Call& call, const char* type) {
  const std::optional<DType> dtype = call.dtype(type);
  auto whole = [&]() -> IntegerRange {
    if (dtype == DType::i8) return {-128, 127};
    if (dtype == DType::u8) return {0, 255};
    if (dtype == DType::i16) return {-32768, 32767};
    if (dtype == DType::i32)
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    call.refuse(type, "must be an integer type of at most 32 bits");
  }();
  auto bound = [&](const char* name, std::int64_t missing) {
    if (!call.has(name)) return missing;
    const double value = call.number(name);
    if (!(value >= static_cast<double>(whole.least) && value <= static_cast<double>(whole.most)))
      call.refuse(name,
                  concat("is ", value, "; ", *dtype, " has ", whole.least, " to ", whole.most));
    return static_cast<std::int64_t>(value);
  };
  return {bound("quant_min", whole.least), bound("quant_max", whole.most)};
}

// What only says how an argument was made: matched by back ends, and not used here.
void pass_over(const Call& call, std::initializer_list<const char*> names) {
  for (const char* name : names) (void)call.has(name);
}

Tensor real_input(const Call& call) {
  Tensor x = call.tensor("input");
  if (!is_floating(x.dtype()))
    call.refuse("input", concat("is ", x.dtype(), "; it must be floating"));
  return is_float16(x.dtype()) ? x.to(DType::f32) : x;
}

// How a call's scales and zero points meet the elements of x.
using Seen = Tensor (*)(const Call&, const Tensor& x, const char* name);

// Of one element, which is a number for all of x.
Tensor for_all(const Call& call, const Tensor&, const char* name) {
  Tensor of = call.tensor(name);
  if (of.count() != 1) call.refuse(name, concat("is [", of.shape(), "]; one element is wanted"));
  return of.reshape({});
}
// One for each place along an axis.
Tensor by_channel(const Call& call, const Tensor& x, const char* name) {
  Tensor of = call.tensor(name);
  const int rank = x.rank(), axis = normalise_axis(call.axis("axis"), rank).value_or(-1);
  if (axis < 0) call.refuse("axis", concat("is no axis of [", x.shape(), "]"));
  if (of.rank() != 1 || of.size(0) != x.size(axis))
    call.refuse(name, concat("is [", of.shape(), "]; [", x.size(axis), "] is wanted"));
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(i == axis ? x.size(axis) : 1);
  return of.reshape(shape);
}
// One for each row.
Tensor by_token(const Call& call, const Tensor& x, const char* name) {
  Tensor of = call.tensor(name);
  Shape shape = x.shape();
  if (shape.rank() == 0) call.refuse("input", "has no axes; rows are wanted");
  shape[shape.rank() - 1] = 1;
  if (of.count() != element_count(shape))
    call.refuse(name, concat("is [", of.shape(), "]; [", shape, "] is wanted"));
  return of.reshape(shape);
}

// Of a matrix: one for each `group_size` elements of a row, as repeated along these.
Tensor by_group(const Call& call, const Tensor& x, const char* name) {
  Tensor of = call.tensor(name);
  if (x.rank() != 2) call.refuse("input", concat("is [", x.shape(), "]; a matrix is wanted"));
  const std::int64_t rows = x.size(0), columns = x.size(1);
  std::int64_t size = call.integer("group_size", 128);
  if (size > columns && of.rank() > 0 && of.size(-1) == 1) size = columns;
  if (size < 1 || columns % size != 0)
    call.refuse("group_size", concat("is ", size, "; it must divide ", columns));
  const std::int64_t groups = columns / size;
  if (of.count() != rows * groups)
    call.refuse(name, concat("is [", of.shape(), "]; ", rows * groups, " elements are wanted"));
  return of.reshape({rows, groups, 1}).expand({rows, groups, size}).reshape({rows, columns});
}

double scale_of(const Call& call) {
  const double scale = call.number("scale");
  if (scale == 0 || !std::isfinite(scale))
    call.refuse("scale", concat("is ", scale, "; a finite number other than 0 is wanted"));
  return scale;
}
// Of the type that the call says; it must be the operand's.
Tensor integer_input(const Call& call) {
  Tensor x = call.tensor("input");
  if (const std::optional<DType> dtype = call.dtype(); dtype && *dtype != x.dtype())
    call.refuse("dtype", concat("is ", *dtype, " for an input of ", x.dtype()));
  return x;
}

Tensor quantize_by_numbers(const Call& call) {
  const IntegerRange range = range_of(call, "dtype");
  Tensor x = real_input(call) * (1.0 / scale_of(call));
  return range.clamp(round(x) + call.integer("zero_point")).to(*call.dtype());
}
template <Seen seen>
Tensor quantize(const Call& call) {
  const IntegerRange range = range_of(call, "dtype");
  const bool is_one = call.has("scale");
  Tensor x = real_input(call), scale = seen(call, x, is_one ? "scale" : "scales");
  x = round(x * (1.0 / scale)) + seen(call, x, is_one ? "zero_point" : "zero_points");
  return range.clamp(x).to(*call.dtype());
}
// Rounded behind the zero point, which may lie between two integers.
template <Seen seen>
Tensor quantize_rows(const Call& call) {
  const IntegerRange range = range_of(call, "dtype");
  Tensor x = call.tensor("input");
  x = round(x * (1.0 / seen(call, x, "scales")) + seen(call, x, "zero_points"));
  return range.clamp(x).to(*call.dtype());
}
Tensor quantize_within_tensors(const Call& call) {
  Tensor x = real_input(call);
  x = round(x * (1.0 / for_all(call, x, "scale"))) + for_all(call, x, "zero_point");
  x = minimum(maximum(x, for_all(call, x, "quant_min")), for_all(call, x, "quant_max"));
  const std::optional<DType> dtype = call.dtype();
  if (!dtype) call.refuse("dtype", "is missing");
  return x.to(*dtype);
}

Tensor dequantize_by_numbers(const Call& call) {
  pass_over(call, {"quant_min", "quant_max"});
  Tensor x = integer_input(call).to(call.dtype("out_dtype").value_or(DType::f32));
  return (x - call.integer("zero_point")) * scale_of(call);
}
Tensor dequantize_by_tensors(const Call& call) {
  pass_over(call, {"quant_min", "quant_max"});
  Tensor x = integer_input(call).to(call.dtype("out_dtype").value_or(DType::f32));
  return (x - for_all(call, x, "zero_point")) * for_all(call, x, "scale");
}
// Differences are of integers, and exact; the type is that of the scales until the end.
template <Seen seen>
Tensor dequantize_parts(const Call& call) {
  pass_over(call, {"quant_min", "quant_max"});
  const char* type = call.has("output_dtype") ? "output_dtype" : "out_dtype";
  Tensor x = integer_input(call), scale = seen(call, x, "scales");
  Tensor wide = x.to(scale.dtype());
  if (call.has("zero_points")) wide = wide - seen(call, x, "zero_points").to(scale.dtype());
  return (wide * scale).to(call.dtype(type).value_or(DType::f32));
}

// The blocks of a tensor that have a scale each: the shape in which these lie behind each other
// where there are several along an axis, which axes are within a block, and the shape of scales.
struct Blocks {
  Shape shape, scales;
  std::vector<int> axes;
};
Blocks blocks_of(const Call& call, const Tensor& x) {
  const Shape sizes = call.integers("block_size");
  if (sizes.rank() != x.rank())
    call.refuse("block_size", concat("is [", sizes, "] for an input [", x.shape(), "]"));
  Blocks blocks;
  auto add = [&](std::int64_t size, bool is_within) {
    if (is_within) blocks.axes.push_back(blocks.shape.rank());
    blocks.shape.push_back(size);
    blocks.scales.push_back(is_within ? 1 : size);
  };
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t size = x.size(i), block = sizes[i] == -1 ? size : sizes[i];
    if (block == size || block == 1) {
      add(size, block != 1);
    } else {
      if (block < 1 || size % block != 0)
        call.refuse("block_size", concat("has ", block, " along an axis of ", size));
      add(size / block, false);
      add(block, true);
    }
  }
  return blocks;
}
Tensor of_blocks(const Call& call, const Blocks& blocks, const char* name) {
  Tensor of = call.tensor(name);
  if (of.count() != element_count(blocks.scales))
    call.refuse(
        name, concat("is [", of.shape(), "]; there are ", element_count(blocks.scales), " blocks"));
  return of.reshape(blocks.scales);
}
bool has_zero_point(const Call& call) {
  return call.has("zero_point") && call.tensor("zero_point").count() > 0;
}

Tensor quantize_affine(const Call& call) {
  const IntegerRange range = range_of(call, "output_dtype");
  Tensor x = call.tensor("input");
  const Blocks blocks = blocks_of(call, x);
  Tensor y = round(x.reshape(blocks.shape) * (1.0 / of_blocks(call, blocks, "scale")));
  if (has_zero_point(call)) y = y + of_blocks(call, blocks, "zero_point");
  return range.clamp(y).reshape(x.shape()).to(*call.dtype("output_dtype"));
}
Tensor dequantize_affine(const Call& call) {
  range_of(call, "input_dtype");
  const DType dtype = call.dtype("output_dtype").value_or(DType::f32);
  Tensor x = call.tensor("input");
  const Blocks blocks = blocks_of(call, x);
  Tensor y = x.reshape(blocks.shape).to(dtype);
  if (has_zero_point(call)) y = y - of_blocks(call, blocks, "zero_point").to(dtype);
  return (y * of_blocks(call, blocks, "scale")).reshape(x.shape()).to(dtype);
}

// The ends of what is to be an integer, zero among them.
struct Ends {
  Tensor least, most;
  Tensor magnitude() const { return maximum(-least, most); }
};
Ends ends_of(const Tensor& x, const std::vector<int>& axes, bool keeps_axes) {
  return {minimum(amin(x, axes, keeps_axes), 0), maximum(amax(x, axes, keeps_axes), 0)};
}

Results choose_affine(const Call& call) {
  const IntegerRange range = range_of(call, "target_dtype");
  Tensor x = call.tensor("input");
  const Blocks blocks = blocks_of(call, x);
  const std::string way = call.text("mapping_type", "");
  const bool keeps_axes = call.flag("keepdim", false);
  const Ends ends = ends_of(x.reshape(blocks.shape), blocks.axes, keeps_axes);
  const auto width = static_cast<double>(range.most - range.least);
  const double least = call.number(
      "eps",
      x.dtype() == DType::f16 ? 0x1p-14 : static_cast<double>(std::numeric_limits<float>::min()));
  Tensor scale, zero_point;
  std::optional<DType> zero_type = call.dtype("zero_point_dtype");
  if (way == "ASYMMETRIC") {
    scale = clamp_min((ends.most - ends.least) / width, least);
    zero_point = range.clamp(range.least - round(ends.least / scale));
    zero_type = zero_type.value_or(DType::i32);
  } else {
    if (way == "SYMMETRIC")
      scale = ends.magnitude() / (width / 2);
    else if (way == "SYMMETRIC_NO_CLIPPING_ERR")
      scale = maximum(ends.least / static_cast<double>(range.least),
                      ends.most / static_cast<double>(range.most));
    else
      call.refuse("mapping_type", "must be SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC");
    zero_point = full(scale.shape(), (range.most + range.least + 1) / 2, scale.dtype());
    scale = clamp_min(scale, least);
  }
  if (keeps_axes) {
    const Shape sizes = call.integers("block_size");
    Shape shape;
    for (int i = 0; i < x.rank(); ++i) shape.push_back(sizes[i] < 1 ? 1 : x.size(i) / sizes[i]);
    scale = scale.reshape(shape);
    zero_point = zero_point.reshape(shape);
  }
  return {scale.to(call.dtype("scale_dtype").value_or(x.dtype())),
          zero_type ? zero_point.to(*zero_type) : zero_point};
}

// Of a whole tensor: [1], of f64 and i64.
template <bool is_symmetric>
std::pair<Tensor, Tensor> choose_for_all(const Call& call) {
  const std::optional<DType> dtype = call.dtype();
  Tensor x = call.tensor("input");
  const auto least = call.integer("quant_min"), most = call.integer("quant_max");
  if (most <= least) call.refuse("quant_max", concat("is ", most, ", not above ", least));
  const Ends ends = ends_of(x.reshape({x.count()}), {0}, true);
  const auto width = static_cast<double>(most - least);
  Tensor scale = is_symmetric ? ends.magnitude() / (width / 2) : (ends.most - ends.least) / width;
  scale = maximum(scale, call.number("eps")).to(DType::f32);
  Tensor zero = is_symmetric ? full({1}, dtype == DType::u8 ? 128 : 0, DType::i64)
                             : clamp_max(clamp_min(least - round(ends.least / scale), least), most);
  return {scale.to(DType::f64), zero.to(DType::i64)};
}

std::pair<Tensor, Tensor> choose_for_tokens(const Call& call) {
  if (call.dtype() != DType::i8) call.refuse("dtype", "must be int8");
  Tensor scale = amax(abs(call.tensor("input")), {-1}, true);
  if (scale.dtype() == DType::f16) scale = scale.to(DType::f32);
  scale = clamp_min(scale, 1e-5) / 127;
  return {scale, zeros(scale.shape(), scale.dtype())};
}
std::pair<Tensor, Tensor> choose_asymmetric_for_tokens(const Call& call) {
  pass_over(call, {"dtype"});
  constexpr double least = -128, most = 127;
  const Ends ends = ends_of(call.tensor("input"), {-1}, true);
  Tensor scale = clamp_min((ends.most - ends.least) / (most - least),
                           static_cast<double>(std::numeric_limits<float>::epsilon()));
  Tensor low = ends.least / scale, high = ends.most / scale;
  Tensor zero = where((least + low) + (most + high) > 0, least - low, most - high);
  zero = round(clamp_max(clamp_min(zero, least), most));
  return {scale.to(DType::f64), zero.to(DType::i64)};
}

// Quantised and back at once, as training sees it; and which elements were within the range.
template <bool is_by_channel>
std::pair<Tensor, Tensor> fake(const Call& call) {
  Tensor x = call.tensor("self");
  auto of = [&](const char* name) {
    return is_by_channel ? by_channel(call, x, name) : for_all(call, x, name);
  };
  auto is_number = [&](const char* name) { return call.operand(name).is_number; };
  const auto least = call.integer("quant_min"), most = call.integer("quant_max");
  if (most < least) call.refuse("quant_max", concat("is ", most, ", less than ", least));
  if (is_number("zero_point")) {
    const std::int64_t zero = call.integer("zero_point");
    if (zero < least || zero > most)
      call.refuse("zero_point", concat("is ", zero, "; from ", least, " to ", most, " is wanted"));
  }
  Tensor scale = is_number("scale") ? full({}, scale_of(call)) : of("scale");
  Tensor zero =
      is_number("zero_point") ? full({}, call.integer("zero_point"), DType::i64) : of("zero_point");
  Tensor wide = is_float16(x.dtype()) ? x.to(DType::f32) : x;
  Tensor integer = round(wide * (1.0 / scale)) + zero;
  Tensor within = clamp_max(clamp_min(integer, least), most);
  return {((within - zero) * scale).to(x.dtype()), integer == within};
}
template <bool is_by_channel>
Tensor faked(const Call& call) {
  return fake<is_by_channel>(call).first;
}

// By int8 weights [N, K] with a scale for each of N.
Tensor weight_product(const Call& call) {
  Tensor x = call.tensor("self");
  return matmul(x, call.tensor("mat2").to(x.dtype()).transpose(0, 1)) * call.tensor("scales");
}
Tensor integer_product(const Call& call) {
  return matmul(call.tensor("self").to(DType::i32), call.tensor("mat2").to(DType::i32));
}

// With a switch, an element: where it is 0, x stays as it is.
std::pair<Tensor, Tensor> fake_where_enabled(const Call& call) {
  auto [faked, is_within] = fake<false>(call);
  Tensor x = call.tensor("self"), is_on = for_all(call, x, "fake_quant_enabled") != 0;
  return {where(is_on, faked, x), logical_or(is_within, logical_not(is_on))};
}

constexpr Operator rows[] = {
    {"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
     by<fake_where_enabled>},
    {"aten._int_mm.default", by<integer_product>},
    {"aten._weight_int8pack_mm.default", by<weight_product>},
    {"aten.fake_quantize_per_channel_affine.default", by<faked<true>>},
    {"aten.fake_quantize_per_channel_affine_cachemask.default", by<fake<true>>},
    {"aten.fake_quantize_per_tensor_affine.default", by<faked<false>>},
    {"aten.fake_quantize_per_tensor_affine.tensor_qparams", by<faked<false>>},
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", by<fake<false>>},
    {"quantized_decomposed.choose_qparams.tensor", by<choose_for_all<false>>},
    {"quantized_decomposed.choose_qparams_per_token.default", by<choose_for_tokens>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     by<choose_asymmetric_for_tokens>},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", by<choose_for_all<true>>},
    {"quantized_decomposed.dequantize_per_channel.default", by<dequantize_parts<by_channel>>},
    {"quantized_decomposed.dequantize_per_channel_group.default", by<dequantize_parts<by_group>>},
    {"quantized_decomposed.dequantize_per_tensor.default", by<dequantize_by_numbers>},
    {"quantized_decomposed.dequantize_per_tensor.tensor", by<dequantize_by_tensors>},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", by<dequantize_by_tensors>},
    {"quantized_decomposed.dequantize_per_token.default", by<dequantize_parts<by_token>>},
    {"quantized_decomposed.quantize_per_channel.default", by<quantize<by_channel>>},
    {"quantized_decomposed.quantize_per_channel_group.default", by<quantize_rows<by_group>>},
    {"quantized_decomposed.quantize_per_tensor.default", by<quantize_by_numbers>},
    {"quantized_decomposed.quantize_per_tensor.tensor", by<quantize<for_all>>},
    {"quantized_decomposed.quantize_per_tensor.tensor2", by<quantize_within_tensors>},
    {"quantized_decomposed.quantize_per_token.default", by<quantize_rows<by_token>>},
    {"torchao.choose_qparams_affine.default", by<choose_affine>},
    {"torchao.dequantize_affine.default", by<dequantize_affine>},
    {"torchao.quantize_affine.default", by<quantize_affine>},
};

}  // namespace
}  // namespace quantisation_rows

std::span<const Operator> quantisation_operators() { return quantisation_rows::rows; }

}  // namespace tilewright::exported
