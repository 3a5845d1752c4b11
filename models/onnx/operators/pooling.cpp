// Means, maxima and lengths over windows, or over all places.
#include <cmath>
#include <limits>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

Tensor numbers_of(const Shape& sizes, const Strides& strides) {
  return graph::strided_numbers(sizes, strides, 0, std::source_location::current())
      .to(i64)
      .tensor();
}

using graph::all_places;
using graph::at_place;
using graph::padded;
using graph::pads;

// What windows meet, place by place, joined to one.
template <typename Join>
Tensor over_places(const Tensor& around, const graph::Windows& windows, const Join& join) {
  Tensor result;
  std::int64_t places = element_count(windows.kernel);
  require(places <= 4096, "[onnx] windows of ", places,
          " elements are too large; at most 4096 are supported");
  for (std::int64_t place = 0; place < places; ++place) {
    Tensor met = at_place(around, windows, place);
    result = result.defined() ? join(result, met) : met;
  }
  return result;
}
Tensor total(const Tensor& around, const graph::Windows& windows) {
  if (element_count(windows.kernel) <= graph::most_slices)
    return over_places(around, windows, [](const Tensor& a, const Tensor& b) { return a + b; });
  Shape sizes = at_place(around, windows, 0).shape();
  return sum(all_places(around, windows), {-2}).reshape(sizes);
}

// How many elements count in the windows of an axis.
Tensor counts_of(const Frame& frame, int axis, std::int64_t size, bool includes_padding) {
  const graph::Windows& windows = frame.windows;
  std::vector<float> counts;
  std::int64_t least = includes_padding ? -frame.before[axis] : 0;
  std::int64_t most = includes_padding ? size + frame.padding_after[axis] : size;
  for (std::int64_t w = 0; w < frame.counts[axis]; ++w) {
    int count = 0;
    for (std::int64_t k = 0; k < windows.kernel[axis]; ++k) {
      std::int64_t at = w * windows.stride[axis] - frame.before[axis] + k * windows.dilation[axis];
      count += at >= least && at < most;
    }
    counts.push_back(static_cast<float>(count));
  }
  Shape along(static_cast<std::size_t>(windows.rank()), 1);
  along[axis] = std::ssize(counts);
  return constant_of(counts, along);
}

Number least_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  return is_signed(dtype) ? -(std::int64_t{1} << (bit_width(dtype) - 2)) * 2 : 0;
}
std::vector<Tensor> greatest_of(const Call& call, const Tensor& x) {
  Frame frame = frame_of(call, x.shape());
  Shape sides = pads(frame.before, frame.after);
  std::int64_t order = call.integer("storage_order", 0);
  Tensor around = padded(x, sides, least_of(x.dtype()));
  if (!call.wants(1))
    return {over_places(around, frame.windows,
                        [](const Tensor& a, const Tensor& b) { return maximum(a, b); })};
  // The number of each element in its plane, row-major or column-major, and of its plane.
  Strides strides = row_major_strides(x.shape());
  if (order != 0) {
    std::int64_t stride = 1;
    for (int axis = 2; axis < x.rank(); ++axis) {
      strides[axis] = stride;
      stride *= x.size(axis);
    }
  }
  Tensor numbers = padded(numbers_of(x.shape(), strides), sides, -1);
  // The first place with the greatest value, or with a NaN. Padding may have this value too, and is
  // never meant.
  const Tensor cells = all_places(around, frame.windows),
               elements = all_places(numbers, frame.windows), values = amax(cells, {-2}, true);
  const std::int64_t places = cells.size(-2);
  Tensor is_met = cells == values;
  if (is_floating(x.dtype())) is_met = logical_or(is_met, isnan(cells));
  is_met = logical_and(is_met, elements >= 0);
  const Tensor each = arange(0, places).reshape({places, 1}),
               first = amin(where(is_met, each, places), {-2}, true);
  const Tensor met = amax(where(each == first, elements, -1), {-2});
  Shape sizes = {x.size(0), x.size(1)};
  sizes.insert(sizes.end(), frame.counts.begin(), frame.counts.end());
  return {values.reshape(sizes), met.reshape(sizes)};
}

std::vector<Tensor> greatest(const Call& call) { return greatest_of(call, call.tensor(0)); }
// With channels last; of ONNX Runtime.
Tensor greatest_before_channels(const Call& call) {
  require(call.rank(0) >= 3, "[onnx] [", call.shape(0),
          "] has no axes besides batch and channels; three or more are wanted");
  return with_channels_last(greatest_of(call, with_channels_first(call.tensor(0)))[0]);
}

Tensor lengths(const Call& call) {
  Tensor x = call.tensor(0);
  Frame frame = frame_of(call, x.shape());
  auto order = static_cast<double>(call.integer("p", 2));
  require(order >= 1, "[onnx] a length of order ", order, "; 1 or more is wanted");
  const Tensor powers = pow(abs(x.to(accumulator(x.dtype()))), order),
               around = padded(powers, pads(frame.before, frame.after), 0.0);
  return pow(total(around, frame.windows), 1 / order).to(x.dtype());
}

Tensor length_of_all(const Call& call) {
  Tensor x = call.tensor(0);
  auto order = static_cast<double>(call.integer("p", 2));
  const Tensor powers = pow(abs(x.to(accumulator(x.dtype()))), order);
  return pow(sum(powers, places_of(x), true), 1 / order).to(x.dtype());
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
     [](const Call& c) {
       Tensor x = c.tensor(0);
       return mean(x, places_of(x), true);
     }},
    {"GlobalLpPool", 2, by<length_of_all>},
    {"GlobalMaxPool", 1,
     [](const Call& c) {
       Tensor x = c.tensor(0);
       return amax(x, places_of(x), true);
     }},
    {"LpPool", 2, by<lengths>},
    {"MaxPool", 1, by<greatest>},
    {"MaxUnpool", 9, by<unpooled>},
    {"com.microsoft.NhwcMaxPool", 1, by<greatest_before_channels>},
};

}  // namespace

Tensor averaged_over_windows(const Call& call, const Tensor& x) {
  Frame frame = frame_of(call, x.shape());
  bool includes_padding = call.flag("count_include_pad", false);
  Tensor around = padded(x.to(accumulator(x.dtype())), pads(frame.before, frame.after), 0.0);
  Tensor divisor = full({}, 1.0);
  for (int i = 0; i < frame.windows.rank(); ++i)
    divisor = divisor * counts_of(frame, i, x.size(2 + i), includes_padding);
  return (total(around, frame.windows) / divisor.to(around.dtype())).to(x.dtype());
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
