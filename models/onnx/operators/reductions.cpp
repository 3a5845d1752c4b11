// Operators that reduce axes, and sums along one.
#include <algorithm>
#include <limits>

#include "graph/functions/indexing/arranging.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace reduction_rows {
namespace {

using Reduction = Tensor (*)(const Tensor& x, std::vector<int> axes, bool keep_dims);

// The axes are an attribute, or the second input; without any all axes, or none. Over none each
// element is reduced by itself, which leaves it as it is but for some reductions.
template <Reduction reduction, bool leaves_single = true>
Tensor reduced(const Call& call) {
  Tensor x = call.tensor(0);
  bool keeps = call.flag("keepdims", true);
  bool leaves = call.flag("noop_with_empty_axes", false);
  std::vector<int> axes = call.has(1) ? call.axes(1) : call.axes("axes");
  for (int& axis : axes) axis = call.within(axis, x.rank());
  if (axes.empty() && leaves)
    return leaves_single ? x : reduction(x.unsqueeze(x.rank()), {x.rank()}, false);
  return reduction(x, axes, keeps);
}

Tensor sum_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  return sum(x, std::move(axes), keeps).to(x.dtype());
}
Tensor product_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  return prod(x, std::move(axes), keeps).to(x.dtype());
}
Tensor mean_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  return mean(x.to(is_floating(x.dtype()) ? x.dtype() : f64), std::move(axes), keeps).to(x.dtype());
}
Tensor squares_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  const Tensor wide = x.to(accumulator(x.dtype()));
  return sum(wide * wide, std::move(axes), keeps).to(x.dtype());
}
Tensor magnitudes_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  return sum(abs(x), std::move(axes), keeps).to(x.dtype());
}
Tensor length_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  DType wide = is_floating(x.dtype()) ? accumulator(x.dtype()) : f64;
  Tensor y = x.to(wide);
  return sqrt(sum(y * y, std::move(axes), keeps)).to(x.dtype());
}
Tensor logarithm_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  DType wide = is_floating(x.dtype()) ? accumulator(x.dtype()) : f64;
  return log(sum(x.to(wide), std::move(axes), keeps)).to(x.dtype());
}
Tensor exponentials_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  if (axes.empty())
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  if (x.rank() == 0) return x;
  return logsumexp(x.to(is_floating(x.dtype()) ? x.dtype() : f64), std::move(axes), keeps)
      .to(x.dtype());
}

bool is_empty(const Tensor& x, const std::vector<int>& axes) {
  return std::ranges::any_of(x.shape(), [](std::int64_t size) { return size == 0; }) &&
         (axes.empty() ||
          std::ranges::any_of(axes, [&](int axis) { return x.shape()[axis] == 0; }));
}
// Of no elements the least that there is, or the greatest.
Tensor extremum_of_none(const Tensor& x, const std::vector<int>& axes, bool keeps, bool is_least) {
  Tensor shape = sum(zeros(x.shape(), f32), axes, keeps);
  DType dtype = x.dtype();
  if (is_boolean(dtype)) return full(shape.shape(), is_least ? 0 : 1, i64).to(dtype);
  double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return full(shape.shape(), is_least ? -infinity : infinity, dtype);
  int digits = bit_width(dtype) - is_signed(dtype);
  require(digits < 64, "[onnx] an extremum of no elements of ", dtype,
          "; types of fewer than 64 bits are supported");
  auto most = static_cast<std::int64_t>((std::uint64_t{1} << digits) - 1);
  std::int64_t least = is_signed(dtype) ? -most - 1 : 0;
  return full(shape.shape(), is_least ? least : most, dtype);
}
Tensor greatest_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  if (is_empty(x, axes)) return extremum_of_none(x, axes, keeps, true);
  if (is_boolean(x.dtype())) return any(x, std::move(axes), keeps);
  return amax(x, std::move(axes), keeps);
}
Tensor least_of(const Tensor& x, std::vector<int> axes, bool keeps) {
  if (is_empty(x, axes)) return extremum_of_none(x, axes, keeps, false);
  if (is_boolean(x.dtype())) return all(x, std::move(axes), keeps);
  return amin(x, std::move(axes), keeps);
}

using Place = Tensor (*)(const TensorOperand& x, std::optional<int> axis, bool keep_dims);
template <Place place>
Tensor place_of(const Call& call) {
  Tensor x = call.tensor(0);
  int axis = call.axis_within("axis", 0, x.rank());
  bool keeps = call.flag("keepdims", true);
  if (!call.flag("select_last_index", false)) return place(x, axis, keeps);
  return x.size(axis) - 1 - place(flip(x, {axis}), axis, keeps);
}

Tensor running_sum(const Call& call) {
  Tensor x = call.tensor(0);
  int axis = call.within(call.scalar(1).as_integer(), x.rank());
  bool is_exclusive = call.flag("exclusive", false), is_reverse = call.flag("reverse", false);
  Tensor sums = cumsum(is_reverse ? flip(x, {axis}) : x, axis).to(x.dtype());
  if (is_exclusive && x.size(axis) > 0) {
    Shape one = x.shape();
    one[axis] = 1;
    sums = cat({zeros(one, x.dtype()), sums.slice(axis, 0, x.size(axis) - 1)}, axis);
  }
  return is_reverse ? flip(sums, {axis}) : sums;
}

std::vector<Tensor> foremost(const Call& call) {
  Tensor x = call.tensor(0);
  int axis = call.axis_within("axis", -1, x.rank());
  const std::int64_t count = call.opset() < 10 ? call.integer("k") : call.scalar(1).as_integer();
  auto [values, places] =
      topk(x, count, axis, call.flag("largest", true), call.flag("sorted", true));
  return {values, places};
}

constexpr Operator rows[] = {
    {"ArgMax", 1, by<place_of<argmax>>},
    {"ArgMin", 1, by<place_of<argmin>>},
    {"CumSum", 11, by<running_sum>},
    {"ReduceL1", 1, by<reduced<magnitudes_of, false>>},
    {"ReduceL2", 1, by<reduced<length_of, false>>},
    {"ReduceLogSum", 1, by<reduced<logarithm_of, false>>},
    {"ReduceLogSumExp", 1, by<reduced<exponentials_of>>},
    {"ReduceMax", 1, by<reduced<greatest_of>>},
    {"ReduceMean", 1, by<reduced<mean_of>>},
    {"ReduceMin", 1, by<reduced<least_of>>},
    {"ReduceProd", 1, by<reduced<product_of>>},
    {"ReduceSum", 1, by<reduced<sum_of>>},
    {"ReduceSumSquare", 1, by<reduced<squares_of, false>>},
    {"TopK", 1, by<foremost>},
};

}  // namespace
}  // namespace reduction_rows

std::span<const Operator> reduction_operators() { return reduction_rows::rows; }

}  // namespace tilewright::onnx
