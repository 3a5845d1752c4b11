#include "graph/functions/pooling/framed_pooling.h"

#include <functional>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/functions/pooling/pooled_axes.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using std::source_location;

namespace {

using Join = std::function<Tensor(const Tensor& a, const Tensor& b)>;

// The elements of each window, place by place, joined to one.
Tensor joined_places(const Tensor& around, const Windows& windows, const Join& join,
                     source_location w) {
  const std::int64_t places = element_count(windows.kernel);
  require(places <= 4096, "[pooling] windows of ", places, " elements are too large (at ", At{w},
          "); at most 4096 are supported");
  Tensor result;
  for (std::int64_t place = 0; place < places; ++place) {
    const Tensor found = at_place(around, windows, place, w);
    result = result.defined() ? join(result, found) : found;
  }
  return result;
}
Tensor total_of_windows(const Tensor& around, const Windows& windows, source_location w) {
  if (element_count(windows.kernel) <= most_slices)
    return joined_places(
        around, windows, [](const Tensor& a, const Tensor& b) { return a + b; }, w);
  const Shape sizes = at_place(around, windows, 0, w).shape();
  return sum(all_places(around, windows, w), {-2}).reshape(sizes);
}

// How many elements count in the windows of an axis, beside those of the other axes.
Tensor counts_along(const WindowFrame& frame, int axis, std::int64_t size, bool includes_padding) {
  const Windows& windows = frame.windows;
  std::vector<float> counts;
  const std::int64_t least = includes_padding ? -frame.before[axis] : 0,
                     most = includes_padding ? size + frame.padding_after[axis] : size;
  for (std::int64_t window = 0; window < frame.counts[axis]; ++window) {
    int count = 0;
    for (std::int64_t k = 0; k < windows.kernel[axis]; ++k) {
      const std::int64_t at =
          window * windows.stride[axis] - frame.before[axis] + k * windows.dilation[axis];
      count += at >= least && at < most;
    }
    counts.push_back(static_cast<float>(count));
  }
  Shape along(static_cast<std::size_t>(windows.rank()), 1);
  along[axis] = std::ssize(counts);
  return constant_of(counts, along);
}

Tensor framed(const Tensor& x, const WindowFrame& frame, const Number& value, source_location w) {
  return padded(x, pads(frame.before, frame.after), value, w);
}

// The number of each element of x.
Tensor element_numbers(const Tensor& x, bool is_column_major, source_location w) {
  Strides strides = row_major_strides(x.shape());
  std::int64_t stride = 1;
  for (int axis = 2; is_column_major && axis < x.rank(); ++axis) {
    strides[axis] = stride;
    stride *= x.size(axis);
  }
  return strided_numbers(x.shape(), strides, 0, w).to(i64).tensor();
}

}  // namespace

Tensor framed_mean(const TensorOperand& operand, const WindowFrame& frame, bool includes_padding) {
  const source_location w = operand.where;
  return of_user_call("avg_pool", w, [&] {
    const Tensor& x = tensor_of(operand, "avg_pool");
    const Tensor around = framed(x.to(accumulator(x.dtype())), frame, 0.0, w);
    Tensor divisor = full({}, 1.0);
    for (int i = 0; i < frame.windows.rank(); ++i)
      divisor = divisor * counts_along(frame, i, x.size(2 + i), includes_padding);
    return (total_of_windows(around, frame.windows, w) / divisor.to(around.dtype())).to(x.dtype());
  });
}

Tensor framed_max(const TensorOperand& operand, const WindowFrame& frame) {
  const source_location w = operand.where;
  return of_user_call("max_pool", w, [&] {
    const Tensor& x = tensor_of(operand, "max_pool");
    return joined_places(
        framed(x, frame, least_of(x.dtype()), w), frame.windows,
        [](const Tensor& a, const Tensor& b) { return maximum(a, b); }, w);
  });
}

std::pair<Tensor, Tensor> framed_max_with_indices(const TensorOperand& operand,
                                                  const WindowFrame& frame, bool is_column_major) {
  const source_location w = operand.where;
  return of_user_call("max_pool", w, [&] {
    const Tensor& x = tensor_of(operand, "max_pool");
    const Tensor cells = all_places(framed(x, frame, least_of(x.dtype()), w), frame.windows, w),
                 numbers = framed(element_numbers(x, is_column_major, w), frame, -1, w),
                 elements = all_places(numbers, frame.windows, w), values = amax(cells, {-2}, true);
    const std::int64_t places = cells.size(-2);
    // Padding may have the greatest value too, and is never the answer.
    Tensor is_greatest = cells == values;
    if (is_floating(x.dtype())) is_greatest = logical_or(is_greatest, isnan(cells));
    is_greatest = logical_and(is_greatest, elements >= 0);
    const Tensor each = arange(0, places).reshape({places, 1}),
                 first = amin(where(is_greatest, each, places), {-2}, true),
                 found = amax(where(each == first, elements, -1), {-2});
    const Shape sizes = pooled_sizes(x, frame.counts);
    return std::pair(values.reshape(sizes), found.reshape(sizes));
  });
}

Tensor framed_norm(const TensorOperand& operand, const WindowFrame& frame, double order) {
  const source_location w = operand.where;
  return of_user_call("lp_pool", w, [&] {
    const Tensor& x = tensor_of(operand, "lp_pool");
    const Tensor powers = pow(abs(x.to(accumulator(x.dtype()))), order),
                 total = total_of_windows(framed(powers, frame, 0.0, w), frame.windows, w);
    return pow(total, 1 / order).to(x.dtype());
  });
}

}  // namespace tilewright::graph
