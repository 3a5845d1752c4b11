// Quantised programs (graph/functions/quantisation): PyTorch's compute in floating point between a
// quantisation and its inverse, which say where a device may compute with integers instead
// (`quantized_decomposed`, and torchao's affine ones).
#include "graph/functions/quantisation/affine.h"
#include "graph/functions/quantisation/qparams.h"
#include "graph/functions/quantisation/rescaled.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace quantisation_rows {
namespace {

// The type that an argument names, and what of it a call uses.
QuantizedType type_of(const Call& call, const char* name) {
  const std::optional<DType> dtype = call.dtype(name);
  if (!dtype || !is_integer(*dtype) || bit_width(*dtype) > 32 || *dtype == u32)
    call.refuse(name, "must be an integer type of at most 32 bits");
  QuantizedType type{*dtype};
  const graph::IntegerRange whole =
      graph::range_of(type, "quantize", std::source_location::current());
  auto bound = [&](const char* bound_name) -> std::optional<std::int64_t> {
    if (!call.has(bound_name)) return std::nullopt;
    const double value = call.number(bound_name);
    if (!(value >= static_cast<double>(whole.least) && value <= static_cast<double>(whole.most)))
      call.refuse(bound_name,
                  concat("is ", value, "; ", *dtype, " has ", whole.least, " to ", whole.most));
    return static_cast<std::int64_t>(value);
  };
  type.least = bound("quant_min");
  type.most = bound("quant_max");
  return type;
}
// What only says how an argument was made: matched by back ends, and not used here.
void pass_over(const Call& call, std::initializer_list<const char*> names) {
  for (const char* name : names) (void)call.has(name);
}
TensorOperand scale_of(const Call& call) { return call.operand("scale"); }
TensorOperand zero_of(const Call& call) { return call.operand("zero_point"); }
Tensor zero_points_of(const Call& call) {
  return call.has("zero_points") ? call.tensor("zero_points") : Tensor();
}
// Of the type that the call says; it must be the operand's.
Tensor integer_input(const Call& call) {
  Tensor x = call.tensor("input");
  if (const std::optional<DType> dtype = call.dtype(); dtype && *dtype != x.dtype())
    call.refuse("dtype", concat("is ", *dtype, " for an input of ", x.dtype()));
  pass_over(call, {"quant_min", "quant_max"});
  return x;
}
DType floats_of(const Call& call) {
  return call.dtype(call.has("output_dtype") ? "output_dtype" : "out_dtype").value_or(f32);
}

Tensor quantize(const Call& call) {
  const QuantizedType type = type_of(call, "dtype");
  return quantize_per_tensor(call.tensor("input"), scale_of(call), zero_of(call), type);
}
Tensor quantize_within_tensors(const Call& call) {
  const std::optional<DType> dtype = call.dtype();
  if (!dtype) call.refuse("dtype", "is missing");
  return quantize_per_tensor(call.tensor("input"), call.tensor("scale"), call.tensor("zero_point"),
                             call.tensor("quant_min"), call.tensor("quant_max"), *dtype);
}
Tensor dequantize(const Call& call) {
  return dequantize_per_tensor(integer_input(call), scale_of(call), zero_of(call), floats_of(call));
}

Tensor quantize_channels(const Call& call) {
  const QuantizedType type = type_of(call, "dtype");
  return quantize_per_channel(call.tensor("input"), call.tensor("scales"), zero_points_of(call),
                              call.axis("axis"), type);
}
Tensor dequantize_channels(const Call& call) {
  return dequantize_per_channel(integer_input(call), call.tensor("scales"), zero_points_of(call),
                                call.axis("axis"), floats_of(call));
}
Tensor quantize_tokens(const Call& call) {
  const QuantizedType type = type_of(call, "dtype");
  return quantize_per_token(call.tensor("input"), call.tensor("scales"), call.tensor("zero_points"),
                            type);
}
Tensor dequantize_tokens(const Call& call) {
  return dequantize_per_token(integer_input(call), call.tensor("scales"), zero_points_of(call),
                              floats_of(call));
}
Tensor quantize_groups(const Call& call) {
  const QuantizedType type = type_of(call, "dtype");
  return quantize_per_channel_group(call.tensor("input"), call.tensor("scales"),
                                    call.tensor("zero_points"), call.integer("group_size", 128),
                                    type);
}
Tensor dequantize_groups(const Call& call) {
  return dequantize_per_channel_group(integer_input(call), call.tensor("scales"),
                                      zero_points_of(call), call.integer("group_size", 128),
                                      floats_of(call));
}

Tensor zero_of_blocks(const Call& call) {
  if (!call.has("zero_point")) return {};
  const Tensor zero = call.tensor("zero_point");
  return zero.count() > 0 ? zero : Tensor();
}
Tensor quantize_blocks(const Call& call) {
  const QuantizedType type = type_of(call, "output_dtype");
  return quantize_affine(call.tensor("input"), call.integers("block_size"), call.tensor("scale"),
                         zero_of_blocks(call), type);
}
Tensor dequantize_blocks(const Call& call) {
  type_of(call, "input_dtype");
  return dequantize_affine(call.tensor("input"), call.integers("block_size"), call.tensor("scale"),
                           zero_of_blocks(call), floats_of(call));
}

std::pair<Tensor, Tensor> both(const QuantizationParameters& parameters) {
  return {parameters.scale, parameters.zero_point};
}
std::pair<Tensor, Tensor> choose_blocks(const Call& call) {
  AffineChoice choice{.type = type_of(call, "target_dtype"),
                      .keep_dims = call.flag("keepdim", false),
                      .scale_dtype = call.dtype("scale_dtype"),
                      .zero_point_dtype = call.dtype("zero_point_dtype")};
  const std::string mapping = call.text("mapping_type", "");
  if (mapping == "SYMMETRIC")
    choice.mapping = AffineMapping::symmetric;
  else if (mapping == "SYMMETRIC_NO_CLIPPING_ERR")
    choice.mapping = AffineMapping::symmetric_no_clipping_error;
  else if (mapping != "ASYMMETRIC")
    call.refuse("mapping_type", "must be SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC");
  if (call.has("eps")) choice.eps = call.number("eps");
  return both(choose_qparams_affine(call.tensor("input"), call.integers("block_size"), choice));
}
ChosenRange range_of(const Call& call) {
  const auto least = call.integer("quant_min"), most = call.integer("quant_max");
  if (most <= least) call.refuse("quant_max", concat("is ", most, ", not above ", least));
  return {least, most, call.number("eps")};
}
std::pair<Tensor, Tensor> choose_for_tokens(const Call& call) {
  if (call.dtype() != i8) call.refuse("dtype", "must be int8");
  return both(choose_qparams_per_token(call.tensor("input")));
}
std::pair<Tensor, Tensor> choose_asymmetric_for_tokens(const Call& call) {
  pass_over(call, {"dtype"});
  return both(choose_qparams_per_token_asymmetric(call.tensor("input")));
}

FakeRange fake_range_of(const Call& call) {
  const auto least = call.integer("quant_min"), most = call.integer("quant_max");
  if (most < least) call.refuse("quant_max", concat("is ", most, ", less than ", least));
  return {least, most};
}
std::pair<Tensor, Tensor> fake(const Call& call) {
  const FakeRange range = fake_range_of(call);
  const TensorOperand zero = zero_of(call);
  if (zero.is_number) {
    const std::int64_t number = call.integer("zero_point");
    if (number < range.least || number > range.most)
      call.refuse("zero_point",
                  concat("is ", number, "; from ", range.least, " to ", range.most, " is wanted"));
  }
  return fake_quantize_per_tensor_affine_cachemask(call.tensor("self"), scale_of(call), zero,
                                                   range);
}
std::pair<Tensor, Tensor> fake_channels(const Call& call) {
  return fake_quantize_per_channel_affine_cachemask(call.tensor("self"), call.tensor("scale"),
                                                    call.tensor("zero_point"), call.axis("axis"),
                                                    fake_range_of(call));
}
// With a switch, an element.
std::pair<Tensor, Tensor> fake_where_enabled(const Call& call) {
  const FakeRange range = fake_range_of(call);
  return fake_quantize_per_tensor_affine_cachemask(
      call.tensor("self"), scale_of(call), zero_of(call), call.tensor("fake_quant_enabled"), range);
}

constexpr Operator rows[] = {
    {"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
     by<fake_where_enabled>},
    {"aten._int_mm.default",
     [](const Call& c) { return integer_matmul(c.tensor("self"), {}, c.tensor("mat2"), {}); }},
    {"aten._weight_int8pack_mm.default",
     [](const Call& c) {
       return weight_int8pack_mm(c.tensor("self"), c.tensor("mat2"), c.tensor("scales"));
     }},
    {"aten.fake_quantize_per_channel_affine.default",
     [](const Call& c) { return fake_channels(c).first; }},
    {"aten.fake_quantize_per_channel_affine_cachemask.default", by<fake_channels>},
    {"aten.fake_quantize_per_tensor_affine.default", [](const Call& c) { return fake(c).first; }},
    {"aten.fake_quantize_per_tensor_affine.tensor_qparams",
     [](const Call& c) { return fake(c).first; }},
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", by<fake>},
    {"quantized_decomposed.choose_qparams.tensor",
     [](const Call& c) {
       c.dtype();
       return both(choose_qparams(c.tensor("input"), range_of(c)));
     }},
    {"quantized_decomposed.choose_qparams_per_token.default", by<choose_for_tokens>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     by<choose_asymmetric_for_tokens>},
    {"quantized_decomposed.choose_qparams_symmetric.tensor",
     [](const Call& c) {
       return both(
           choose_qparams_symmetric(c.tensor("input"), range_of(c), c.dtype().value_or(i8)));
     }},
    {"quantized_decomposed.dequantize_per_channel.default", by<dequantize_channels>},
    {"quantized_decomposed.dequantize_per_channel_group.default", by<dequantize_groups>},
    {"quantized_decomposed.dequantize_per_tensor.default", by<dequantize>},
    {"quantized_decomposed.dequantize_per_tensor.tensor", by<dequantize>},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", by<dequantize>},
    {"quantized_decomposed.dequantize_per_token.default", by<dequantize_tokens>},
    {"quantized_decomposed.quantize_per_channel.default", by<quantize_channels>},
    {"quantized_decomposed.quantize_per_channel_group.default", by<quantize_groups>},
    {"quantized_decomposed.quantize_per_tensor.default", by<quantize>},
    {"quantized_decomposed.quantize_per_tensor.tensor", by<quantize>},
    {"quantized_decomposed.quantize_per_tensor.tensor2", by<quantize_within_tensors>},
    {"quantized_decomposed.quantize_per_token.default", by<quantize_tokens>},
    {"torchao.choose_qparams_affine.default", by<choose_blocks>},
    {"torchao.dequantize_affine.default", by<dequantize_blocks>},
    {"torchao.quantize_affine.default", by<quantize_blocks>},
};

}  // namespace
}  // namespace quantisation_rows

std::span<const Operator> quantisation_operators() { return quantisation_rows::rows; }

}  // namespace tilewright::exported
