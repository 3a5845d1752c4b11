// Operators that reduce axes, and sums along one.
#include "graph/functions/reducing/reductions.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/own_dtype.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace reduction_rows {
namespace {

using Reduction = Tensor (*)(const TensorOperand& x, const Axes& axes, bool keep_dims);

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
  return own_dtype::cumsum(x, axis, {.exclusive = is_exclusive, .reverse = is_reverse});
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
    {"ReduceL1", 1, by<reduced<own_dtype::l1_norm, false>>},
    {"ReduceL2", 1, by<reduced<own_dtype::l2_norm, false>>},
    {"ReduceLogSum", 1, by<reduced<own_dtype::log_sum, false>>},
    {"ReduceLogSumExp", 1, by<reduced<own_dtype::logsumexp>>},
    {"ReduceMax", 1, by<reduced<own_dtype::amax>>},
    {"ReduceMean", 1, by<reduced<own_dtype::mean>>},
    {"ReduceMin", 1, by<reduced<own_dtype::amin>>},
    {"ReduceProd", 1, by<reduced<own_dtype::prod>>},
    {"ReduceSum", 1, by<reduced<own_dtype::sum>>},
    {"ReduceSumSquare", 1, by<reduced<own_dtype::sum_of_squares, false>>},
    {"TopK", 1, by<foremost>},
};

}  // namespace
}  // namespace reduction_rows

std::span<const Operator> reduction_operators() { return reduction_rows::rows; }

}  // namespace tilewright::onnx
