// Operators that arrange elements anew: views, copies, joins and cuts. What is a view in PyTorch is
// one here where a program may write through it; what is a copy there may be a view here, unless
// the program writes at all (NamedOperator::compute).
#include <algorithm>
#include <limits>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/shaping/axes.h"
#include "graph/functions/shaping/parts.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace arrangement_rows {
namespace {

Tensor same(const Call& call) { return call.tensor("self"); }
Tensor viewed(const Call& call) {
  const Tensor x = call.tensor("self");
  return call.has("shares_memory") ? x.view(call.integers("size"))
                                   : x.reshape(call.integers("size"));
}
Tensor permuted(const Call& call) { return call.tensor("self").permute(call.axes("dims")); }

Tensor sliced(const Call& call) {
  return call.tensor("self").slice(call.axis("dim", 0), call.integer("start", 0),
                                   call.integer("end", std::numeric_limits<std::int64_t>::max()),
                                   call.integer("step", 1));
}

// The axes that are of size 1, of those named.
Tensor squeezed(const Tensor& x, std::vector<int> axes) {
  Shape sizes;
  for (int& axis : axes) axis = normalise_axis(axis, std::max(x.rank(), 1)).value_or(-1);
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end() || x.shape()[axis] != 1)
      sizes.push_back(x.shape()[axis]);
  return x.reshape(sizes);
}

// One number has no axes, of which each may be named.
Tensor transposed(const Call& call) {
  Tensor x = call.tensor("self");
  const int first = call.axis("dim0"), second = call.axis("dim1");
  auto is_only_axis = [](int axis) { return axis == 0 || axis == -1; };
  if (x.rank() == 0 && is_only_axis(first) && is_only_axis(second)) return x;
  return x.transpose(first, second);
}

Tensor shaped_as(const Call& call) {
  return call.tensor("self").reshape(call.tensor("other").shape());
}

Tensor unflattened(const Call& call) {
  const Tensor x = call.tensor("self");
  const int axis = call.axis("dim");
  if (!normalise_axis(axis, x.rank()))
    call.refuse("dim", concat("is ", axis, "; the tensor is [", x.shape(), "]"));
  return unflatten(x, axis, call.integers("sizes"));
}

Tensor turned(const Call& call) {
  Tensor x = call.tensor("self");
  std::vector<int> axes;
  for (int axis = x.rank(); axis-- > 0;) axes.push_back(axis);
  return x.permute(axes);
}

// One number has no axes, of which each may be named.
Tensor moved(const Call& call, const std::vector<int>& from, const std::vector<int>& to) {
  const Tensor x = call.tensor("self");
  return x.rank() == 0 ? x : movedim(x, from, to);
}

// Of one dtype, that they promote to; a tensor [0] joins any other.
Tensor joined(const Call& call) {
  std::vector<Tensor> parts = call.tensors("tensors");
  int axis = call.axis("dim", 0);
  if (std::ranges::any_of(parts, [](const Tensor& t) { return t.rank() != 1; })) {
    DType dtype = parts.front().dtype();
    for (const Tensor& part : parts) dtype = promote(dtype, part.dtype());
    std::erase_if(parts, [](const Tensor& t) { return t.shape() == Shape{0}; });
    if (!parts.empty()) parts.front() = parts.front().to(dtype);
  }
  return cat(parts, axis);
}

std::vector<Tensor> split_by_sizes(const Call& call) {
  return split(call.tensor("self"),
               call.integers(call.has("split_size") ? "split_size" : "split_sizes"),
               call.axis("dim", 0));
}
std::vector<Tensor> unbound(const Call& call) {
  return unbind(call.tensor("self"), call.axis("dim", 0));
}

// The elements of `src` as self's dtype, in self's shape.
Tensor copied(const Call& call) {
  Tensor self = call.tensor("self");
  return call.tensor("src").to(self.dtype()).expand(self.shape());
}

// To another size, in place: the first elements of the tensor, in their order.
Tensor resized(const Call& call, const Shape& sizes) {
  Tensor x = call.tensor("self");
  const std::int64_t count = element_count(sizes);
  require(count <= x.count(), "[exported] a tensor [", x.shape(), "] is resized to [", sizes,
          "], where elements are added that have no value; it can be resized to fewer");
  return x.reshape({x.count()}).slice(0, 0, count).reshape(sizes);
}

// From a start that is data, of one element; from the end where it is negative.
Tensor narrowed_by_tensor(const Call& call) {
  Tensor x = call.tensor("self"), start = call.tensor("start");
  const int axis = call.axis("dim");
  const std::int64_t size = x.size(axis), length = call.integer("length");
  if (start.count() != 1 || !is_integer(start.dtype()))
    call.refuse("start",
                concat("is ", start.dtype(), " [", start.shape(), "]; one integer is wanted"));
  if (length < 0 || length > size)
    call.refuse("length", concat("is ", length, "; the axis has ", size, " elements"));
  Tensor first = start.to(i64).reshape({1});
  return index_select(x, axis, where(first < 0, first + size, first) + arange(0, length));
}

constexpr Operator rows[] = {
    {"aten.resize.default", [](const Call& c) { return resized(c, c.integers("size")); }},
    {"aten.resize_as.default",
     [](const Call& c) { return resized(c, c.tensor("the_template").shape()); }},
    {"aten.alias.default", by<same>},
    {"aten.detach.default", by<same>},
    {"aten.detach_.default", by<same>},
    {"aten.conj_physical.default", by<same>},  // of real numbers, as all are
    {"aten.resolve_conj.default", by<same>},
    {"aten.resolve_neg.default", by<same>},
    {"aten.real.default", by<same>},
    {"aten.lift_fresh.default", by<same>},
    {"aten.lift_fresh_copy.default", by<same>},
    {"aten.clone.default", [](const Call& c) { return c.tensor("self").contiguous(); }},
    {"aten.view.default", by<viewed>},
    {"aten.view_copy.default", by<viewed>},
    {"aten.reshape.default",
     [](const Call& c) { return c.tensor("self").reshape(c.integers("shape")); }},
    {"aten._unsafe_view.default", by<viewed>},
    {"aten.permute.default", by<permuted>},
    {"aten.permute_copy.default", by<permuted>},
    {"aten.transpose.int", by<transposed>},
    {"aten.t.default",
     [](const Call& c) {
       Tensor x = c.tensor("self");
       return x.rank() < 2 ? x : x.transpose(0, 1);
     }},
    {"aten.expand.default",
     [](const Call& c) {
       c.has("implicit");
       return c.tensor("self").expand(c.integers("size"));
     }},
    {"aten.broadcast_to.default",
     [](const Call& c) { return c.tensor("self").expand(c.integers("size")); }},
    {"aten.expand_as.default",
     [](const Call& c) { return c.tensor("self").expand(c.tensor("other").shape()); }},
    {"aten.reshape_as.default", by<shaped_as>},
    {"aten.view_as.default", by<shaped_as>},
    {"aten.ravel.default", [](const Call& c) { return c.tensor("self").reshape({-1}); }},
    {"aten.unflatten.int", by<unflattened>},
    {"aten.swapaxes.default",
     [](const Call& c) { return c.tensor("self").transpose(c.axis("axis0"), c.axis("axis1")); }},
    {"aten.swapdims.default", by<transposed>},
    {"aten.movedim.int",
     [](const Call& c) { return moved(c, {c.axis("source")}, {c.axis("destination")}); }},
    {"aten.movedim.intlist",
     [](const Call& c) { return moved(c, c.axes("source"), c.axes("destination")); }},
    {"aten.mT.default", [](const Call& c) { return c.tensor("self").transpose(-2, -1); }},
    {"aten.mH.default", [](const Call& c) { return c.tensor("self").transpose(-2, -1); }},
    {"aten.numpy_T.default", by<turned>},
    {"aten.matrix_H.default", by<turned>},
    {"aten.narrow.default",
     [](const Call& c) {
       std::int64_t start = c.integer("start");
       Tensor x = c.tensor("self");
       if (start < 0) start += x.size(c.axis("dim"));
       return x.slice(c.axis("dim"), start, start + c.integer("length"));
     }},
    {"aten.narrow.Tensor", by<narrowed_by_tensor>},
    {"aten.squeeze.default", [](const Call& c) { return c.tensor("self").squeeze(); }},
    {"aten.unsqueeze.default",
     [](const Call& c) { return c.tensor("self").unsqueeze(c.axis("dim")); }},
    {"aten.squeeze.dims", [](const Call& c) { return squeezed(c.tensor("self"), c.axes("dim")); }},
    {"aten.squeeze.dim", [](const Call& c) { return squeezed(c.tensor("self"), {c.axis("dim")}); }},
    {"aten.slice.Tensor", by<sliced>},
    {"aten.select.int",
     [](const Call& c) { return c.tensor("self").select(c.axis("dim"), c.integer("index")); }},
    {"aten.narrow_copy.default",
     [](const Call& c) {
       std::int64_t start = c.integer("start");
       return c.tensor("self").slice(c.axis("dim"), start, start + c.integer("length"));
     }},
    {"aten.cat.default", by<joined>},
    {"aten.split_with_sizes.default", by<split_by_sizes>},
    {"aten.split.sizes", by<split_by_sizes>},
    {"aten.unbind.int", by<unbound>},
    {"aten.unbind_copy.int", by<unbound>},
    {"aten.copy.default", by<copied>},
};

}  // namespace
}  // namespace arrangement_rows

std::span<const Operator> arrangement_operators() { return arrangement_rows::rows; }

}  // namespace tilewright::exported
