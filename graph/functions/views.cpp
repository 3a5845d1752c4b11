// The members of Tensor that give views of the same elements.
#include <algorithm>
#include <numeric>

#include "graph/ir/location.h"
#include "graph/ir/shape_rules.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Op;
using std::source_location;

namespace {

// `wanted` with its -1, if any, replaced by the size that makes the counts equal.
Shape resolved_shape(const Shape& from, Shape wanted, source_location w) {
  std::int64_t known = 1, unknown = -1;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (wanted[i] != -1) {
      require(wanted[i] >= 0, "[reshape] size ", wanted[i], " in ", wanted, " (at ", At{w},
              "); sizes must not be negative, except one -1");
      known *= wanted[i];
      continue;
    }
    require(unknown < 0, "[reshape] two sizes of ", wanted, " are -1 (at ", At{w},
            "); one at most may be");
    unknown = i;
  }
  if (unknown < 0) return wanted;
  std::int64_t count = element_count(from);
  require(known > 0 && count % known == 0, "[reshape] a tensor of shape ", from, " has ", count,
          " elements; ", wanted, " with -1 needs a multiple of ", known, " (at ", At{w}, ")");
  wanted[static_cast<int>(unknown)] = count / known;
  return wanted;
}

Tensor view_op(Op op, const Tensor& tensor, const Attributes& attributes, source_location w) {
  return *graph::apply_view(op, tensor, attributes, w);
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape, source_location w) const {
  Attributes attributes{.axes = {}, .sizes = resolved_shape(this->shape(), shape, w)};
  if (auto view = graph::apply_view(Op::reshape, *this, attributes, w)) return *view;
  return view_op(Op::reshape, clone(w), attributes, w);
}

Tensor Tensor::view(const Shape& shape, source_location w) const {
  Attributes attributes{.axes = {}, .sizes = resolved_shape(this->shape(), shape, w)};
  auto view = graph::apply_view(Op::reshape, *this, attributes, w);
  if (view.has_value()) {
    // A captured value is seen in every shape, but a write has to reach this tensor.
    if (view->is_symbolic()) view->body_->must_share = true;
    return *view;
  }
  raise_error(concat("[view] a tensor of shape ", this->shape(), " with strides ",
                     to_string(strides()), " is not laid out as ", shape, " (at ", At{w},
                     "); use reshape, which copies where it must"));
}

Tensor Tensor::permute(const std::vector<int>& axes, source_location w) const {
  Attributes attributes;
  for (int axis : axes) attributes.axes.push_back(graph::axis_of(axis, shape(), "permute", w));
  return view_op(Op::permute, *this, attributes, w);
}

Tensor Tensor::transpose(int a, int b, source_location w) const {
  Attributes attributes;
  attributes.axes.resize(shape().size());
  std::iota(attributes.axes.begin(), attributes.axes.end(), 0);
  std::swap(attributes.axes[static_cast<std::size_t>(graph::axis_of(a, shape(), "transpose", w))],
            attributes.axes[static_cast<std::size_t>(graph::axis_of(b, shape(), "transpose", w))]);
  return view_op(Op::permute, *this, attributes, w);
}

Tensor Tensor::unsqueeze(int axis, source_location w) const {
  auto normal = normalise_axis(axis, rank() + 1);
  require(normal.has_value(), "[unsqueeze] axis ", axis, " is outside the result's rank ",
          rank() + 1, " (at ", At{w}, "); it must be in [", -rank() - 1, ", ", rank() + 1, ")");
  Shape sizes = shape();
  sizes.insert(sizes.begin() + *normal, 1);
  return view_op(Op::reshape, *this, {.axes = {}, .sizes = sizes}, w);
}

Tensor Tensor::squeeze(int axis, source_location w) const {
  int normal = graph::axis_of(axis, shape(), "squeeze", w);
  require(shape()[normal] == 1, "[squeeze] axis ", axis, " of shape ", shape(), " has size ",
          shape()[normal], " (at ", At{w}, "); only an axis of size 1 can go");
  Shape sizes = shape();
  sizes.erase(sizes.begin() + normal);
  return view_op(Op::reshape, *this, {.axes = {}, .sizes = sizes}, w);
}

Tensor Tensor::expand(const Shape& sizes, source_location w) const {
  Shape wanted = sizes;
  for (int i = 1; i <= std::min(rank(), wanted.rank()); ++i)
    if (wanted[-i] == -1) wanted[-i] = shape()[-i];
  return graph::expanded_view(*this, wanted, "expand", w);
}

Tensor Tensor::slice(int axis, std::int64_t start, std::int64_t end, std::int64_t step,
                     source_location w) const {
  require(step > 0, "[slice] step is ", step, " (at ", At{w},
          "); it must be positive, and flip goes backwards");
  Attributes attributes;
  attributes.axes = {graph::axis_of(axis, shape(), "slice", w)};
  std::int64_t size = shape()[attributes.axes[0]];
  auto inside = [size](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  attributes.start = inside(start);
  attributes.end = std::max(inside(end), attributes.start);
  attributes.step = step;
  return view_op(Op::slice, *this, attributes, w);
}

Tensor Tensor::select(int axis, std::int64_t index, source_location w) const {
  int normal = graph::axis_of(axis, shape(), "select", w);
  std::int64_t size = shape()[normal], at = index < 0 ? index + size : index;
  require(at >= 0 && at < size, "[select] index ", index, " is outside axis ", axis, " of shape ",
          shape(), " (at ", At{w}, "); it must be in [", -size, ", ", size, ")");
  return slice(normal, at, at + 1, 1, w).squeeze(normal, w);
}

Tensor Tensor::contiguous(source_location w) const {
  graph::body_of(*this, "contiguous", w);
  if (is_symbolic()) {
    const graph::Capture* capture = graph::Capture::active();
    return capture == nullptr || capture->is_row_major(*body_) ? *this : clone(w);
  }
  return is_contiguous() ? *this : clone(w);
}

}  // namespace tilewright
