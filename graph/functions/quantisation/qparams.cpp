#include "graph/functions/quantisation/qparams.h"

#include <limits>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Blocks;
using graph::IntegerRange;
using std::source_location;

namespace {

// The ends of what is to be an integer, zero among them.
struct Ends {
  Tensor least, most;
  Tensor magnitude() const { return maximum(-least, most); }
};
Ends ends_of(const Tensor& x, const std::vector<int>& axes, bool keeps_axes) {
  return {minimum(amin(x, axes, keeps_axes), 0), maximum(amax(x, axes, keeps_axes), 0)};
}

double width_of(const ChosenRange& range, const char* operation, source_location w) {
  require(range.most > range.least, "[", operation, "] the range is from ", range.least, " to ",
          range.most, " (at ", At{w}, "); its end must be above its start");
  return static_cast<double>(range.most - range.least);
}
Ends ends_of_all(const TensorOperand& x, const char* operation) {
  const Tensor& given = graph::tensor_of(x, operation);
  return ends_of(given.reshape({given.count()}), {0}, true);
}
Tensor bounded_scale(const Tensor& scale, const ChosenRange& range) {
  return maximum(scale, range.eps).to(DType::f32);
}

}  // namespace

QuantizationParameters choose_qparams(const TensorOperand& x, const ChosenRange& range) {
  const double width = width_of(range, "choose_qparams", x.where);
  const Ends ends = ends_of_all(x, "choose_qparams");
  const Tensor scale = bounded_scale((ends.most - ends.least) / width, range);
  const Tensor zero =
      IntegerRange{range.least, range.most}.clamp(range.least - round(ends.least / scale));
  return {scale.to(DType::f64), zero.to(DType::i64)};
}
QuantizationParameters choose_qparams_symmetric(const TensorOperand& x, const ChosenRange& range,
                                                DType dtype) {
  const double width = width_of(range, "choose_qparams_symmetric", x.where);
  const Ends ends = ends_of_all(x, "choose_qparams_symmetric");
  return {bounded_scale(ends.magnitude() / (width / 2), range).to(DType::f64),
          full({1}, dtype == DType::u8 ? 128 : 0, DType::i64)};
}

QuantizationParameters choose_qparams_per_token(const TensorOperand& x) {
  Tensor scale = amax(abs(graph::tensor_of(x, "choose_qparams_per_token")), {-1}, true);
  if (scale.dtype() == DType::f16) scale = scale.to(DType::f32);
  scale = clamp_min(scale, 1e-5) / 127;
  return {scale, zeros(scale.shape(), scale.dtype())};
}
QuantizationParameters choose_qparams_per_token_asymmetric(const TensorOperand& x) {
  constexpr double least = -128, most = 127;
  const Ends ends = ends_of(graph::tensor_of(x, "choose_qparams_per_token_asymmetric"), {-1}, true);
  const Tensor scale = clamp_min((ends.most - ends.least) / (most - least),
                                 static_cast<double>(std::numeric_limits<float>::epsilon()));
  // Of both ends the one that is nearer to its integer says where zero lies.
  const Tensor low = ends.least / scale, high = ends.most / scale;
  const Tensor zero = where((least + low) + (most + high) > 0, least - low, most - high);
  return {scale.to(DType::f64), round(clamp_max(clamp_min(zero, least), most)).to(DType::i64)};
}

QuantizationParameters choose_qparams_affine(const TensorOperand& operand, const Shape& block_size,
                                             const AffineChoice& choice) {
  constexpr const char* name = "choose_qparams_affine";
  const Tensor& x = graph::tensor_of(operand, name);
  const IntegerRange range = graph::range_of(choice.type, name, operand.where);
  const Blocks blocks = graph::blocks_of(x, block_size, name, operand.where);
  const Ends ends = ends_of(x.reshape(blocks.shape), blocks.axes, choice.keep_dims);
  const auto width = static_cast<double>(range.most - range.least);
  const double eps = choice.eps.value_or(
      x.dtype() == DType::f16 ? 0x1p-14 : static_cast<double>(std::numeric_limits<float>::min()));
  Tensor scale, zero_point;
  std::optional<DType> zero_type = choice.zero_point_dtype;
  if (choice.mapping == AffineMapping::asymmetric) {
    scale = clamp_min((ends.most - ends.least) / width, eps);
    zero_point = range.clamp(range.least - round(ends.least / scale));
    zero_type = zero_type.value_or(DType::i32);
  } else {
    scale = choice.mapping == AffineMapping::symmetric
                ? ends.magnitude() / (width / 2)
                : maximum(ends.least / static_cast<double>(range.least),
                          ends.most / static_cast<double>(range.most));
    zero_point = full(scale.shape(), (range.most + range.least + 1) / 2, scale.dtype());
    scale = clamp_min(scale, eps);
  }
  if (choice.keep_dims) {
    scale = scale.reshape(blocks.counts);
    zero_point = zero_point.reshape(blocks.counts);
  }
  return {scale.to(choice.scale_dtype.value_or(x.dtype())),
          zero_type ? zero_point.to(*zero_type) : zero_point};
}

namespace {

// Scale and zero point as they broadcast to x.
std::pair<Tensor, Tensor> faked(const Tensor& given, const Tensor& by, const Tensor& offset,
                                const FakeRange& range) {
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Tensor &x = t[0], &scale = t[1], &zero = t[2];
    const Tensor wide = is_float16(x.dtype()) ? x.to(DType::f32) : x;
    const Tensor integer = round(wide * (1.0 / scale)) + zero;
    const Tensor within = IntegerRange{range.least, range.most}.clamp(integer);
    return {((within - zero) * scale).to(x.dtype()), integer == within};
  };
  const std::vector<Tensor> operands = {given, by, offset};
  const std::vector<Tensor> both =
      graph::with_rule("fake quantize", operands, {}, function, std::source_location::current());
  return {both[0], both[1]};
}
void require_range(const FakeRange& range, const char* operation, source_location w) {
  require(range.least <= range.most, "[", operation, "] the range is from ", range.least, " to ",
          range.most, " (at ", At{w}, "); its end must not be below its start");
}

}  // namespace

std::pair<Tensor, Tensor> fake_quantize_per_tensor_affine_cachemask(const TensorOperand& x,
                                                                    const TensorOperand& scale,
                                                                    const TensorOperand& zero_point,
                                                                    const FakeRange& range) {
  constexpr const char* name = "fake_quantize_per_tensor_affine";
  const Tensor& given = graph::tensor_of(x, name);
  require_range(range, name, x.where);
  auto tensor_of = [&](const TensorOperand& value, const char* what, DType dtype) {
    return value.is_number ? full({}, value.number, dtype, x.where)
                           : graph::one_element(value.tensor, what, name, x.where);
  };
  if (zero_point.is_number) {
    const std::int64_t zero = zero_point.number.as_integer();
    require(zero >= range.least && zero <= range.most, "[", name, "] the zero point is ", zero,
            " (at ", At{x.where}, "); from ", range.least, " to ", range.most, " is wanted");
  }
  require(!scale.is_number || scale.number.as_double() != 0, "[", name, "] the scale is 0 (at ",
          At{x.where}, "); another number is wanted");
  return faked(given, tensor_of(scale, "the scale", DType::f32),
               tensor_of(zero_point, "the zero point", DType::i64), range);
}
std::pair<Tensor, Tensor> fake_quantize_per_tensor_affine_cachemask(const TensorOperand& x,
                                                                    const TensorOperand& scale,
                                                                    const TensorOperand& zero_point,
                                                                    const Tensor& enabled,
                                                                    const FakeRange& range) {
  auto [values, within] = fake_quantize_per_tensor_affine_cachemask(x, scale, zero_point, range);
  const Tensor is_on =
      graph::one_element(enabled, "the switch", "fake_quantize_per_tensor_affine", x.where) != 0;
  return {where(is_on, values, x.tensor), logical_or(within, logical_not(is_on))};
}
std::pair<Tensor, Tensor> fake_quantize_per_channel_affine_cachemask(const TensorOperand& x,
                                                                     const Tensor& scale,
                                                                     const Tensor& zero_point,
                                                                     int axis,
                                                                     const FakeRange& range) {
  constexpr const char* name = "fake_quantize_per_channel_affine";
  const Tensor& given = graph::tensor_of(x, name);
  require_range(range, name, x.where);
  auto seen = [&](const Tensor& values) {
    return graph::along_channels(values, given, axis, name, x.where);
  };
  return faked(given, seen(scale), seen(zero_point), range);
}
Tensor fake_quantize_per_tensor_affine(const TensorOperand& x, const TensorOperand& scale,
                                       const TensorOperand& zero_point, const FakeRange& range) {
  return fake_quantize_per_tensor_affine_cachemask(x, scale, zero_point, range).first;
}
Tensor fake_quantize_per_channel_affine(const TensorOperand& x, const Tensor& scale,
                                        const Tensor& zero_point, int axis,
                                        const FakeRange& range) {
  return fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, range).first;
}

}  // namespace tilewright
