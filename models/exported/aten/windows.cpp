#include "models/exported/aten/windows.h"

#include <algorithm>

#include "models/exported/aten/numbered.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

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
Tensor side_by_side(const Tensor& x, const Windows& windows) {
  Shape counts = counts_of(x, windows), apart;
  int first = first_axis(x, windows), rank = windows.rank();
  std::vector<int> order;
  for (int i = 0; i < first; ++i) order.push_back(i);
  for (int i = 0; i < rank; ++i) order.push_back(first + 2 * i + 1);
  for (int i = 0; i < rank; ++i) order.push_back(first + 2 * i);
  for (int i = 0; i < rank; ++i) apart.insert(apart.end(), {counts[i], windows.kernel[i]});
  Shape joined = {element_count(windows.kernel), element_count(counts)};
  return x.reshape(with_last(x, rank, apart)).permute(order).reshape(with_last(x, rank, joined));
}

// One value stands for all axes.
Shape of_axes(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = call.integers(name, missing);
  if (values.rank() == 1 && rank > 1) values = Shape(static_cast<std::size_t>(rank), values[0]);
  if (values.rank() != rank) call.refuse(name, concat("has not ", rank, " values"));
  return values;
}
}  // namespace

Tensor padded(const Tensor& given, const Shape& pad, const Number& value) {
  Tensor x = given;
  require(pad.rank() % 2 == 0 && pad.rank() / 2 <= x.rank(), "[exported] a pad has ", pad.rank(),
          " sizes for a tensor of rank ", x.rank());
  for (int i = 0; i < pad.rank() / 2; ++i) {
    int axis = x.rank() - 1 - i;
    std::int64_t before = pad[2 * i], after = pad[2 * i + 1], size = x.size(axis);
    x = x.slice(axis, std::max<std::int64_t>(-before, 0),
                std::max<std::int64_t>(size - std::max<std::int64_t>(-after, 0), 0));
    auto filler = [&](std::int64_t count) {
      Shape sizes = x.shape();
      sizes[axis] = count;
      return full(sizes, value.as_double(), f64).to(x.dtype());
    };
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(filler(before));
    parts.push_back(x);
    if (after > 0) parts.push_back(filler(after));
    if (parts.size() > 1) x = cat(parts, axis);
  }
  return x;
}

std::int64_t window_count(const Windows& windows, int axis, std::int64_t size) {
  std::int64_t span = windows.dilation[axis] * (windows.kernel[axis] - 1) + 1;
  return size < span ? 0 : (size - span) / windows.stride[axis] + 1;
}

Tensor at_place(const Tensor& x, const Windows& windows, std::int64_t place) {
  Tensor result = x;
  for (int i = windows.rank() - 1; i >= 0; --i) {
    int axis = first_axis(x, windows) + i;
    std::int64_t count = window_count(windows, i, x.size(axis));
    std::int64_t start = place % windows.kernel[i] * windows.dilation[i];
    place /= windows.kernel[i];
    result =
        result.slice(axis, start, start + (count - 1) * windows.stride[i] + 1, windows.stride[i]);
  }
  return result;
}

Tensor all_places(const Tensor& x, const Windows& windows) {
  if (are_side_by_side(x, windows)) return side_by_side(x, windows);
  int first = first_axis(x, windows), rank = windows.rank();
  Shape counts = counts_of(x, windows), last(x.shape().begin() + first, x.shape().end());
  Strides steps = row_major_strides(last), in_window, of_windows;
  for (int i = 0; i < rank; ++i) {
    in_window.push_back(steps[i] * windows.dilation[i]);
    of_windows.push_back(steps[i] * windows.stride[i]);
  }
  Shape both = windows.kernel;
  both.insert(both.end(), counts.begin(), counts.end());
  in_window.insert(in_window.end(), of_windows.begin(), of_windows.end());
  Tensor numbers = strided_numbers(both, in_window)
                       .reshape({element_count(windows.kernel), element_count(counts)});
  Tensor flat = x.reshape(with_last(x, rank, {element_count(last)}));
  std::vector<Tensor> indices(static_cast<std::size_t>(first) + 1);
  indices.back() = numbers;
  return indexed(flat, indices);
}

Shape positive(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = of_axes(call, name, rank, missing);
  for (std::int64_t value : values)
    if (value < 1 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}
Shape not_negative(const Call& call, std::string_view name, int rank) {
  Shape values = of_axes(call, name, rank, Shape(static_cast<std::size_t>(rank), 0));
  for (std::int64_t value : values)
    if (value < 0 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}

Shape pads(const Shape& before, const Shape& after) {
  Shape pad;
  for (int i = before.rank() - 1; i >= 0; --i) pad.insert(pad.end(), {before[i], after[i]});
  return pad;
}

}  // namespace tilewright::exported
