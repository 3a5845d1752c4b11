#include "graph/functions/shaping/axes.h"

#include <algorithm>

#include "graph/functions/indexing/arranging.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::axis_of;
using std::source_location;

namespace {

std::vector<int> axes_named(const std::vector<int>& named, const Tensor& x, source_location w) {
  std::vector<int> axes;
  for (int axis : named) {
    axes.push_back(axis_of(axis, x.shape(), "movedim", w));
    require(std::ranges::count(axes, axes.back()) == 1, "[movedim] axis ", axis,
            " is named twice (at ", At{w}, "); each may be named once");
  }
  return axes;
}

}  // namespace

Tensor movedim(const Tensor& x, const std::vector<int>& from, const std::vector<int>& to,
               source_location w) {
  require(from.size() == to.size(), "[movedim] ", from.size(), " axes become ", to.size(), " (at ",
          At{w}, "); as many are wanted");
  const std::vector<int> sources = axes_named(from, x, w), places = axes_named(to, x, w);
  std::vector<int> order(static_cast<std::size_t>(x.rank()), -1);
  for (std::size_t i = 0; i < sources.size(); ++i)
    order[static_cast<std::size_t>(places[i])] = sources[i];
  int other = 0;
  for (int& source : order) {
    if (source >= 0) continue;
    while (std::ranges::find(sources, other) != sources.end()) ++other;
    source = other++;
  }
  return x.permute(order, w);
}
Tensor movedim(const Tensor& x, int from, int to, source_location w) {
  return movedim(x, std::vector<int>{from}, std::vector<int>{to}, w);
}
Tensor swapaxes(const Tensor& x, int a, int b, source_location w) { return x.transpose(a, b, w); }

Tensor flatten(const Tensor& x, int first, int last, source_location w) {
  if (x.rank() == 0) return x.reshape({1}, w);
  const int begin = axis_of(first, x.shape(), "flatten", w),
            end = axis_of(last, x.shape(), "flatten", w);
  require(begin <= end, "[flatten] axes ", first, " to ", last, " of ", x.shape(), " (at ", At{w},
          "); the first must not come after the last");
  Shape sizes(x.shape().begin(), x.shape().begin() + begin);
  sizes.push_back(element_count(Shape(x.shape().begin() + begin, x.shape().begin() + end + 1)));
  sizes.insert(sizes.end(), x.shape().begin() + end + 1, x.shape().end());
  return x.reshape(sizes, w);
}
Tensor ravel(const Tensor& x, source_location w) { return x.reshape({x.count()}, w); }

Tensor unflatten(const Tensor& x, int axis, const Shape& sizes, source_location w) {
  const int at = axis_of(axis, x.shape(), "unflatten", w);
  std::int64_t known = 1;
  for (std::int64_t size : sizes)
    if (size != -1) known *= size;
  const auto open = std::ranges::count(sizes, -1);
  require(open <= 1 && std::ranges::all_of(sizes, [](std::int64_t size) { return size >= -1; }) &&
              (open == 0 ? known == x.size(at) : known != 0 && x.size(at) % known == 0),
          "[unflatten] an axis of ", x.size(at), " is taken apart into ", sizes, " (at ", At{w},
          "); their product must be its size, and one of them may be -1");
  Shape all(x.shape().begin(), x.shape().begin() + at);
  for (std::int64_t size : sizes) all.push_back(size == -1 ? x.size(at) / known : size);
  all.insert(all.end(), x.shape().begin() + at + 1, x.shape().end());
  return x.reshape(all, w);
}

Tensor atleast_1d(const Tensor& x, source_location w) {
  return x.rank() == 0 ? x.reshape({1}, w) : x;
}
Tensor atleast_2d(const Tensor& x, source_location w) {
  return x.rank() < 2 ? x.reshape({1, x.count()}, w) : x;
}
Tensor atleast_3d(const Tensor& x, source_location w) {
  if (x.rank() < 2) return x.reshape({1, x.count(), 1}, w);
  return x.rank() == 2 ? x.unsqueeze(2, w) : x;
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, source_location w) {
  return x.expand(shape, w);
}
Tensor expand_as(const Tensor& x, const Tensor& other, source_location w) {
  return x.expand(other.shape(), w);
}

Tensor rot90(const Tensor& x, std::int64_t quarters, int a, int b, source_location w) {
  const int from = axis_of(a, x.shape(), "rot90", w), to = axis_of(b, x.shape(), "rot90", w);
  require(from != to, "[rot90] both axes are ", a, " (at ", At{w}, "); two axes are wanted");
  switch ((quarters % 4 + 4) % 4) {
    case 1: return flip({x, w}, {to}).transpose(from, to, w);
    case 2: return flip({x, w}, {from, to});
    case 3: return flip({x, w}, {from}).transpose(from, to, w);
    default: return x;
  }
}

}  // namespace tilewright
