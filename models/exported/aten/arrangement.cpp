// Operators that arrange elements anew: views, copies, joins and cuts. A program has no writes to
// views in it, so that what is a view in PyTorch may be a copy here, and the other way round.
#include <algorithm>
#include <limits>

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

Tensor same(const Call& call) { return call.tensor("self"); }
Tensor viewed(const Call& call) { return call.tensor("self").reshape(call.integers("size")); }
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

// Of one dtype, that they promote to; a tensor [0] joins any other.
Tensor joined(const Call& call) {
  std::vector<Tensor> parts = call.tensors("tensors");
  int axis = call.axis("dim", 0);
  std::erase_if(
      parts, [&](const Tensor& t) { return t.shape() == Shape{0} && parts.front().rank() != 1; });
  if (parts.empty()) return call.tensors("tensors").front();
  return cat(parts, axis);
}

std::vector<Tensor> split(const Call& call) {
  Tensor x = call.tensor("self");
  int axis = call.axis("dim", 0);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t size : call.integers("split_sizes")) {
    parts.push_back(x.slice(axis, start, start + size));
    start += size;
  }
  return parts;
}
std::vector<Tensor> unbound(const Call& call) {
  Tensor x = call.tensor("self");
  int axis = call.axis("dim", 0);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.size(axis); ++i) parts.push_back(x.select(axis, i));
  return parts;
}

Tensor repeated(const Call& call) {
  Tensor x = call.tensor("self");
  Shape repeats = call.integers("repeats"), apart, spread, whole;
  int added = repeats.rank() - x.rank();
  require(added >= 0, "[exported] a tensor of rank ", x.rank(), " is repeated along ",
          repeats.rank(), " axes");
  for (int axis = 0; axis < repeats.rank(); ++axis) {
    std::int64_t size = axis < added ? 1 : x.shape()[axis - added];
    apart.insert(apart.end(), {1, size});
    spread.insert(spread.end(), {repeats[axis], size});
    whole.push_back(repeats[axis] * size);
  }
  return x.reshape(apart).expand(spread).reshape(whole);
}

// The elements of `src` as self's dtype, in self's shape.
Tensor copied(const Call& call) {
  Tensor self = call.tensor("self");
  return call.tensor("src").to(self.dtype()).expand(self.shape());
}

constexpr Operator rows[] = {
    {"aten.alias.default", by<same>},
    {"aten.detach.default", by<same>},
    {"aten.lift_fresh_copy.default", by<same>},
    {"aten.clone.default", [](const Call& c) { return c.tensor("self").contiguous(); }},
    {"aten.view.default", by<viewed>},
    {"aten.view_copy.default", by<viewed>},
    {"aten.reshape.default",
     [](const Call& c) { return c.tensor("self").reshape(c.integers("shape")); }},
    {"aten._unsafe_view.default", by<viewed>},
    {"aten.permute.default", by<permuted>},
    {"aten.permute_copy.default", by<permuted>},
    {"aten.transpose.int",
     [](const Call& c) { return c.tensor("self").transpose(c.axis("dim0"), c.axis("dim1")); }},
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
    {"aten.split_with_sizes.default", by<split>},
    {"aten.unbind.int", by<unbound>},
    {"aten.unbind_copy.int", by<unbound>},
    {"aten.repeat.default", by<repeated>},
    {"aten.copy.default", by<copied>},
};

}  // namespace

std::span<const Operator> arrangement_operators() { return rows; }

}  // namespace tilewright::exported
