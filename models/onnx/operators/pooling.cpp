// Means, maxima and lengths over windows, or over all places.
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/pooling/framed_pooling.h"
#include "graph/functions/reducing/reductions.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

std::vector<Tensor> greatest_of(const Call& call, const Tensor& x) {
  const Frame frame = frame_of(call, x.shape());
  const bool is_column_major = call.integer("storage_order", 0) != 0;
  if (!call.wants(1)) return {graph::framed_max(x, frame)};
  auto [values, numbers] = graph::framed_max_with_indices(x, frame, is_column_major);
  return {values, numbers};
}

std::vector<Tensor> greatest(const Call& call) { return greatest_of(call, call.tensor(0)); }
// With channels last; of ONNX Runtime.
Tensor greatest_before_channels(const Call& call) {
  require(call.rank(0) >= 3, "[onnx] [", call.shape(0),
          "] has no axes besides batch and channels; three or more are wanted");
  return with_channels_last(greatest_of(call, with_channels_first(call.tensor(0)))[0]);
}

Tensor lengths(const Call& call) {
  const Tensor x = call.tensor(0);
  const Frame frame = frame_of(call, x.shape());
  const auto order = static_cast<double>(call.integer("p", 2));
  require(order >= 1, "[onnx] a length of order ", order, "; 1 or more is wanted");
  return graph::framed_norm(x, frame, order);
}

// Each element where its number says, among those of the result.
Tensor unpooled(const Call& call) {
  Tensor x = call.tensor(0), numbers = call.tensor(1);
  int rank = x.rank() - 2;
  require(rank >= 1, "[onnx] [", x.shape(),
          "] has no axes besides batch and channels; three or more are wanted");
  Shape kernel = axis_values(call, "kernel_shape", rank, 1, 1),
        stride = axis_values(call, "strides", rank, 1, 1),
        sides = axis_values(call, "pads", 2 * rank, 0, 0), sizes = {x.size(0), x.size(1)};
  for (int i = 0; i < rank; ++i)
    sizes.push_back((x.size(2 + i) - 1) * stride[i] + kernel[i] - sides[i] - sides[rank + i]);
  if (call.has(2)) {
    const Shape wanted = call.integers(2);
    bool is_enough = wanted.rank() == sizes.rank();
    for (int i = 0; is_enough && i < sizes.rank(); ++i) is_enough = wanted[i] >= sizes[i];
    require(is_enough, "[onnx] the result is to have the sizes [", wanted, "]; [", sizes,
            "] or more are wanted");
    sizes = wanted;
  }
  return put(zeros(sizes, x.dtype()), numbers, x);
}

constexpr Operator pooling_rows[] = {
    {"AveragePool", 7, [](const Call& c) { return averaged_over_windows(c, c.tensor(0)); }},
    {"GlobalAveragePool", 1,
     [](const Call& c) { return mean(c.tensor(0), places_of(c.tensor(0)), true); }},
    {"GlobalLpPool", 2,
     [](const Call& c) {
       const auto order = static_cast<double>(c.integer("p", 2));
       return linalg_vector_norm(c.tensor(0), order, places_of(c.tensor(0)), true);
     }},
    {"GlobalMaxPool", 1,
     [](const Call& c) { return amax(c.tensor(0), places_of(c.tensor(0)), true); }},
    {"LpPool", 2, by<lengths>},
    {"MaxPool", 1, by<greatest>},
    {"MaxUnpool", 9, by<unpooled>},
    {"com.microsoft.NhwcMaxPool", 1, by<greatest_before_channels>},
};

}  // namespace

Tensor averaged_over_windows(const Call& call, const Tensor& x) {
  const Frame frame = frame_of(call, x.shape());
  return graph::framed_mean(x, frame, call.flag("count_include_pad", false));
}

std::vector<int> places_of(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  require(!axes.empty(), "[onnx] [", x.shape(),
          "] has no axes besides batch and channels; three or more are wanted");
  return axes;
}
std::span<const Operator> pooling_operators() { return pooling_rows; }

}  // namespace tilewright::onnx
