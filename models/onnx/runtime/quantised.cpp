// Operators of ONNX Runtime (com.microsoft) on integers of 8 bits with a scale and a zero point:
// a number is (integer - zero point) * scale. Results are rounded to the nearest integer, halves to
// even, and to the ends of the range.
//
// Steps and their order are those of ONNX Runtime's kernels, so that halves fall alike: some round
// before the zero point is added, some after. All is in f32 as there; sums are of integers.
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "models/onnx/runtime/integers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace runtime_quantised_rows {
namespace {

// An operand in three inputs from that one on: integers, scale and zero point.
struct Operand {
  Tensor integers, scale, zero;
  Tensor steps() const { return integers.to(f32) - zero; }  // from the zero point
  Tensor numbers() const { return steps() * scale; }
};
Operand operand_of(const Call& call, std::size_t input) {
  Tensor integers = integers_of(call, input);
  return {integers, scale_of(call, input + 1), zero_of(call, input + 2, integers.dtype())};
}
// The format of the result: the scale and zero point from that input on.
struct Target {
  Tensor scale, zero;
  DType dtype;
  Tensor from_steps(const Tensor& steps) const { return (round(steps) + zero).to(dtype); }
  Tensor from_numbers(const Tensor& x) const { return from_steps(x / scale); }
};
Target target_of(const Call& call, std::size_t input, DType dtype) {
  return {scale_of(call, input), zero_of(call, input + 1, dtype), dtype};
}
void require_same(const Operand& a, const Operand& b) {
  require(a.integers.dtype() == b.integers.dtype(), "[onnx] operands are ", a.integers.dtype(),
          " and ", b.integers.dtype(), "; they must have one type");
}

// The zero points are one number, to which products are added one after the other.
Tensor sum_of_two(const Call& call) {
  const Operand a = operand_of(call, 0), b = operand_of(call, 3);
  require_same(a, b);
  const Target target = target_of(call, 6, a.integers.dtype());
  const Tensor of_a = a.scale / target.scale, of_b = b.scale / target.scale;
  const Tensor fixed = target.zero - (of_a * a.zero + of_b * b.zero);
  return round((fixed + a.integers.to(f32) * of_a) + b.integers.to(f32) * of_b).to(target.dtype);
}
Tensor product_of_two(const Call& call) {
  const Operand a = operand_of(call, 0), b = operand_of(call, 3);
  require_same(a, b);
  const Target target = target_of(call, 6, a.integers.dtype());
  const Tensor scale = a.scale * b.scale / target.scale;
  return round(a.steps() * b.steps() * scale + target.zero).to(target.dtype);
}

Tensor squashed(const Call& call) {
  const Operand x = operand_of(call, 0);
  return target_of(call, 3, x.integers.dtype()).from_numbers(sigmoid(x.numbers()));
}
Tensor leaking(const Call& call) {
  const Operand x = operand_of(call, 0);
  const double slope = call.number("alpha", 0.01);
  const Tensor numbers = x.numbers();
  return target_of(call, 3, x.integers.dtype())
      .from_numbers(where(numbers >= 0, numbers, numbers * slope));
}

// ONNX Runtime takes as many steps as there are whole ones in 1, so that the scale is the next one
// of which there are. `opset` says which Softmax it stands for: before 13 it is over all axes from
// the named one on.
Tensor shares(const Call& call) {
  const Operand x = operand_of(call, 0);
  const Target target = target_of(call, 3, x.integers.dtype());
  const int rank = x.integers.rank();
  require(rank > 0, "[onnx] a softmax of one number has no axis");
  const bool is_over_rest = call.integer("opset") < 13;
  const int axis = call.axis_within("axis", is_over_rest ? 1 : -1, rank);
  std::vector<int> axes = {axis};
  for (int i = axis + 1; is_over_rest && i < rank; ++i) axes.push_back(i);
  const Tensor integers = x.integers.to(f32);
  const Tensor powers = exp((integers - amax(integers, axes, true)) * x.scale);
  return target.from_steps(powers * floor(1.0 / target.scale) / sum(powers, axes, true));
}

Tensor moved(const Operand& x, const Target& target) { return target.from_numbers(x.numbers()); }

Tensor joined(const Call& call) {
  require(call.count() >= 5 && call.count() % 3 == 2, "[onnx] ", call.count(),
          " inputs; a scale and a zero point are wanted, and three inputs for each part");
  const Operand first = operand_of(call, 2);
  const int axis = call.axis_within("axis", {}, first.integers.rank());
  const Target target = target_of(call, 0, first.integers.dtype());
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i < call.count(); i += 3) {
    const Operand part = operand_of(call, i);
    require_same(first, part);
    parts.push_back(moved(part, target));
  }
  return cat(parts, axis);
}
Tensor chosen(const Call& call) {
  const Operand x = operand_of(call, 1), y = operand_of(call, 4);
  require_same(x, y);
  require(is_boolean(call.dtype(0)), "[onnx] the condition is ", call.dtype(0), "; bool is wanted");
  const Target target = target_of(call, 7, x.integers.dtype());
  return where(call.tensor(0), moved(x, target), moved(y, target));
}

Tensor means_over_windows(const Call& call) {
  const Operand x = operand_of(call, 0);
  const Target target = target_of(call, 3, x.integers.dtype());
  const bool is_last = call.flag("channels_last", false);
  require(x.integers.rank() >= 3, "[onnx] [", x.integers.shape(),
          "] has no axes besides batch and channels");
  if (call.flag("ceil_mode", false) && call.flag("count_include_pad", false))
    call.refuse("ceil_mode", "is not supported where padding counts");
  const Tensor numbers = is_last ? with_channels_first(x.numbers()) : x.numbers();
  const Tensor means = averaged_over_windows(call, numbers);
  const Tensor result = round(means / target.scale + target.zero).to(target.dtype);
  return is_last ? with_channels_last(result) : result;
}
Tensor means_of_all(const Call& call) {
  const Operand x = operand_of(call, 0);
  const Target target = target_of(call, 3, x.integers.dtype());
  std::vector<int> axes = places_of(x.integers);
  if (call.flag("channels_last", false))
    for (int& axis : axes) --axis;
  std::int64_t count = 1;
  for (int axis : axes) count *= x.integers.size(axis);
  const Tensor total = sum(x.integers.to(i32) - x.zero.to(i32), axes, true).to(f32);
  return target.from_steps(total * (x.scale / (target.scale * static_cast<double>(count))));
}

// Without a scale of the result its numbers are given, as f32.
Tensor general_product(const Call& call) {
  const Operand a = operand_of(call, 0);
  Tensor left = a.integers.to(i32) - a.zero.to(i32), b = integers_of(call, 3);
  require(left.rank() == 2 && b.rank() == 2, "[onnx] [", left.shape(), "] and [", b.shape(),
          "] are no matrices");
  if (call.flag("transA", false)) left = left.transpose(0, 1);
  if (call.flag("transB", false)) b = b.transpose(0, 1);
  require_matrices(left, b);
  Tensor sums = matmul(left, less_zero_of_columns(call, b, 5));
  if (call.has(6)) {
    require(call.dtype(6) == i32, "[onnx] input 6, the addend, is ", call.dtype(6),
            "; i32 is wanted");
    const Tensor added = call.tensor(6);
    require(added.rank() <= 2, "[onnx] the addend is [", added.shape(), "] to [", sums.shape(),
            "]");
    sums = sums + added;
  }
  Tensor scale = call.number("alpha", 1) * a.scale * scales_of_columns(call, 4, b.size(1));
  require(call.has(7) == call.has(8),
          "[onnx] the result has a scale or a zero point alone; both are wanted, or none");
  if (!call.has(7)) return sums.to(f32) * scale;
  const Target target = target_of(call, 7, a.integers.dtype());
  return target.from_steps(sums.to(f32) * (scale / target.scale));
}

Tensor with_bias(const Call& call, const Tensor& product, std::size_t input) {
  if (!call.has(input)) return product;
  const Tensor bias = call.tensor(input);
  require(bias.rank() == 1 && bias.size(0) == product.size(-1), "[onnx] a bias [", bias.shape(),
          "] for [", product.shape(), "]; one for each column is wanted");
  return product + bias;
}
Tensor product_as_floats(const Call& call) {
  return with_bias(call, product_of_integers(call, {0, 1, 2, 3, 4, 5}), 6);
}
Tensor product_by_range(const Call& call) {
  const Tensor a = call.tensor(0), b = integers_of(call, 1);
  require(a.dtype() == f32, "[onnx] input 0 is ", a.dtype(), "; f32 is wanted");
  require_matrices(a, b);
  const ByRange found = rounded_by_range(a);
  const Tensor sums = matmul((found.steps - found.zero).to(i32), less_zero_of_columns(call, b, 3));
  return with_bias(call, sums.to(f32) * (found.scale * scales_of_columns(call, 2, b.size(-1))), 4);
}

constexpr Operator rows[] = {
    {"com.microsoft.DynamicQuantizeMatMul", 1, by<product_by_range>},
    {"com.microsoft.MatMulIntegerToFloat", 1, by<product_as_floats>},
    {"com.microsoft.QGemm", 1, by<general_product>},
    {"com.microsoft.QLinearAdd", 1, by<sum_of_two>},
    {"com.microsoft.QLinearAveragePool", 1, by<means_over_windows>},
    {"com.microsoft.QLinearConcat", 1, by<joined>},
    {"com.microsoft.QLinearGlobalAveragePool", 1, by<means_of_all>},
    {"com.microsoft.QLinearLeakyRelu", 1, by<leaking>},
    {"com.microsoft.QLinearMul", 1, by<product_of_two>},
    {"com.microsoft.QLinearSigmoid", 1, by<squashed>},
    {"com.microsoft.QLinearSoftmax", 1, by<shares>},
    {"com.microsoft.QLinearWhere", 1, by<chosen>},
};

}  // namespace
}  // namespace runtime_quantised_rows

std::span<const Operator> runtime_quantised_operators() { return runtime_quantised_rows::rows; }

}  // namespace tilewright::onnx
