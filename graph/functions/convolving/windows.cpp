#include "graph/functions/convolving/windows.h"

#include <algorithm>

#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using std::source_location;

// The first of the axes that the windows lie over.
int first_axis(const Tensor& x, const Windows& windows) { return x.rank() - windows.rank(); }

Shape counts_of(const Tensor& x, const Windows& windows) {
  Shape counts;
  for (int i = 0; i < windows.rank(); ++i)
    counts.push_back(window_count(windows, i, x.size(first_axis(x, windows) + i)));
  return counts;
}

Shape with_last(const Tensor& x, int axes, const Shape& last) {
  Shape sizes(x.shape().begin(), x.shape().end() - axes);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

// Whether windows cover an axis side by side, so that they are a view of it.
bool are_side_by_side(const Tensor& x, const Windows& windows) {
  bool are = true;
  for (int i = 0; i < windows.rank(); ++i)
    are = are && windows.stride[i] == windows.kernel[i] && windows.dilation[i] == 1 &&
          x.size(first_axis(x, windows) + i) % windows.kernel[i] == 0;
  return are;
}

// [.., n0, k0, n1, k1] as [.., k0, k1, n0, n1], both joined.
Tensor side_by_side(const Tensor& x, const Windows& windows, source_location w) {
  Shape counts = counts_of(x, windows), apart;
  int first = first_axis(x, windows), rank = windows.rank();
  std::vector<int> order;
  for (int i = 0; i < first; ++i) order.push_back(i);
  for (int i = 0; i < rank; ++i) order.push_back(first + 2 * i + 1);
  for (int i = 0; i < rank; ++i) order.push_back(first + 2 * i);
  for (int i = 0; i < rank; ++i) apart.insert(apart.end(), {counts[i], windows.kernel[i]});
  Shape joined = {element_count(windows.kernel), element_count(counts)};
  return x.reshape(with_last(x, rank, apart), w)
      .permute(order, w)
      .reshape(with_last(x, rank, joined), w);
}

// i32: of each place and each window the number of the element among those of the last axes.
Tensor element_numbers(const Tensor& x, const Windows& windows, source_location w) {
  int first = first_axis(x, windows), rank = windows.rank();
  Shape counts = counts_of(x, windows), last(x.shape().begin() + first, x.shape().end());
  Strides steps = row_major_strides(last);
  Tensor numbers = zeros(Shape(static_cast<std::size_t>(2 * rank), 1), DType::i32, w);
  auto add = [&](int axis, std::int64_t count, std::int64_t step) {
    Shape along(static_cast<std::size_t>(2 * rank), 1);
    along[axis] = count;
    Tensor places = arange(0, count, 1, DType::i32, w).reshape(along, w);
    numbers = TensorOperand(numbers, w) + TensorOperand(places, w) * TensorOperand(step, w);
  };
  for (int i = 0; i < rank; ++i) {
    add(i, windows.kernel[i], steps[i] * windows.dilation[i]);
    add(rank + i, counts[i], steps[i] * windows.stride[i]);
  }
  return numbers.reshape({element_count(windows.kernel) * element_count(counts)}, w);
}

// Of many places: elements by their numbers.
Tensor picked_places(const Tensor& x, const Windows& windows, source_location w) {
  int rank = windows.rank();
  Shape leading = with_last(x, rank, {}), counts = counts_of(x, windows);
  std::int64_t rows = element_count(leading);
  Shape last(x.shape().end() - rank, x.shape().end());
  require(element_count(last) <= INT32_MAX, "[windows] the last axes have ", element_count(last),
          " elements (at ", At{w}, "); windows of more than ", most_slices, " places lie over ",
          INT32_MAX, " at most");
  Tensor table = x.reshape({rows, element_count(last)}, w).permute({1, 0}, w);
  Tensor picked = embedding({element_numbers(x, windows, w), w}, table);
  leading.insert(leading.end(), {element_count(windows.kernel), element_count(counts)});
  return picked.permute({1, 0}, w).reshape(leading, w);
}

Tensor joined_along(const Tensor& x, const Windows& windows, int i, const Joining& joining,
                    source_location w) {
  const int axis = first_axis(x, windows) + i;
  const std::int64_t places = windows.kernel[i], count = window_count(windows, i, x.size(axis));
  Shape sizes = x.shape();
  if (windows.stride[i] == places && windows.dilation[i] == 1) {
    sizes[axis] = count;
    sizes.insert(sizes.begin() + axis + 1, places);
    return joining.axis(x.slice(axis, 0, count * places, 1, w).reshape(sizes, w), axis + 1);
  }
  const Shape ones(static_cast<std::size_t>(windows.rank()), 1);
  Windows along = {ones, ones, ones};
  along.kernel[i] = places;
  along.stride[i] = windows.stride[i];
  along.dilation[i] = windows.dilation[i];
  if (places > most_slices) {
    sizes[axis] = count;
    return joining.axis(all_places(x, along, w), x.rank() - windows.rank()).reshape(sizes, w);
  }
  Tensor joined = at_place(x, along, 0, w);
  for (std::int64_t place = 1; place < places; ++place)
    joined = joining.two(joined, at_place(x, along, place, w));
  return joined;
}

}  // namespace

Tensor padded(const Tensor& given, const Shape& pad, const Number& value, source_location w) {
  Tensor x = given;
  require(pad.rank() % 2 == 0 && pad.rank() / 2 <= x.rank(), "[pad] a pad has ", pad.rank(),
          " sizes for a tensor of rank ", x.rank(), " (at ", At{w},
          "); there must be two an axis, for as many of the last axes as are padded");
  for (int i = 0; i < pad.rank() / 2; ++i) {
    int axis = x.rank() - 1 - i;
    std::int64_t before = pad[2 * i], after = pad[2 * i + 1], size = x.size(axis);
    x = x.slice(axis, std::max<std::int64_t>(-before, 0),
                std::max<std::int64_t>(size - std::max<std::int64_t>(-after, 0), 0), 1, w);
    auto filler = [&](std::int64_t count) {
      Shape sizes = x.shape();
      sizes[axis] = count;
      return constant(x.dtype(), sizes, value, w);
    };
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(filler(before));
    parts.push_back(x);
    if (after > 0) parts.push_back(filler(after));
    if (parts.size() > 1) x = cat(parts, axis, w);
  }
  return x;
}

Shape pads(const Shape& before, const Shape& after) {
  Shape pad;
  for (int i = before.rank() - 1; i >= 0; --i) pad.insert(pad.end(), {before[i], after[i]});
  return pad;
}

std::int64_t window_count(const Windows& windows, int axis, std::int64_t size) {
  std::int64_t span = windows.dilation[axis] * (windows.kernel[axis] - 1) + 1;
  return size < span ? 0 : (size - span) / windows.stride[axis] + 1;
}

Tensor at_place(const Tensor& x, const Windows& windows, std::int64_t place, source_location w) {
  Tensor result = x;
  for (int i = windows.rank() - 1; i >= 0; --i) {
    int axis = first_axis(x, windows) + i;
    std::int64_t count = window_count(windows, i, x.size(axis));
    std::int64_t start = place % windows.kernel[i] * windows.dilation[i];
    place /= windows.kernel[i];
    std::int64_t end = count == 0 ? start : start + (count - 1) * windows.stride[i] + 1;
    result = result.slice(axis, start, end, windows.stride[i], w);
  }
  return result;
}

Tensor all_places(const Tensor& x, const Windows& windows, source_location w) {
  if (are_side_by_side(x, windows)) return side_by_side(x, windows, w);
  const std::int64_t places = element_count(windows.kernel);
  if (places > most_slices) return picked_places(x, windows, w);
  std::vector<Tensor> slices;
  Shape sizes = with_last(x, windows.rank(), {1, element_count(counts_of(x, windows))});
  for (std::int64_t place = 0; place < places; ++place)
    slices.push_back(at_place(x, windows, place, w).reshape(sizes, w));
  return slices.size() == 1 ? slices[0] : cat(slices, -2, w);
}

Tensor joined_windows(const Tensor& x, const Windows& windows, const Joining& joining,
                      source_location w) {
  Tensor joined = x;
  for (int i = 0; i < windows.rank(); ++i) joined = joined_along(joined, windows, i, joining, w);
  return joined;
}

}  // namespace tilewright::graph
