// Operators that read and write elements by numbers that are themselves tensors, and those that
// pick elements by a rule: diagonals, windows, strides.
#include <algorithm>

#include "graph/functions/convolving/windows.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/numbered.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

int axis_of(const Call& call, std::string_view name, int rank) {
  int given = call.axis(name, 0);
  auto axis = normalise_axis(given, std::max(rank, 1));
  require(axis.has_value(), "[exported] axis ", given, " is outside the rank ", rank);
  return *axis;
}

// A tensor without axes counts as one of one element here.
Tensor with_axis(const Tensor& x) { return x.rank() == 0 ? x.reshape({1}) : x; }

// The numbers of the elements that `index` names along the axis, at its own place in the others. An
// index that names none may have any rank.
Tensor numbers_along(const Tensor& x, int axis, const Tensor& index) {
  if (index.count() == 0) return zeros(index.shape(), i64);
  require(index.rank() == x.rank(), "[exported] the index has the shape ", index.shape(),
          ", and what it is an index of ", x.shape(), "; they must have as many axes");
  Strides strides = row_major_strides(x.shape()), others = strides;
  others[axis] = 0;
  Tensor numbers = strided_numbers(index.shape(), others) + index.to(i64) * strides[axis];
  // What lies beyond the axis is the number of no element, and not that of a neighbour.
  return where(logical_or(index < 0, index >= x.size(axis)), -1, numbers);
}

Tensor gathered(const Call& call) {
  Tensor index = call.tensor("index"), x = with_axis(call.tensor("self"));
  call.flag("sparse_grad", false);
  int axis = axis_of(call, "dim", x.rank());
  return elements_at(x, numbers_along(x, axis, with_axis(index))).reshape(index.shape());
}

Tensor scattered(const Call& call) {
  Tensor self = call.tensor("self"), x = with_axis(self), index = with_axis(call.tensor("index"));
  int axis = axis_of(call, "dim", x.rank());
  Tensor numbers = numbers_along(x, axis, index);
  if (call.has("value"))
    return with_elements_at(x, numbers, full({}, call.number("value"), f64)).reshape(self.shape());
  Tensor from = with_axis(call.tensor("src"));
  if (index.count() == 0) return self;
  for (int i = 0; i < index.rank(); ++i) from = from.slice(i, 0, index.size(i));
  return with_elements_at(x, numbers, from).reshape(self.shape());
}

// Index tensors with gaps for the axes before the one that is named.
std::vector<Tensor> along(int axis, const Tensor& index) {
  std::vector<Tensor> indices(static_cast<std::size_t>(axis) + 1);
  indices.back() = index;
  return indices;
}

Tensor selected(const Call& call) {
  Tensor self = call.tensor("self"), x = with_axis(self);
  int axis = axis_of(call, "dim", x.rank());
  return indexed(x, along(axis, with_axis(call.tensor("index"))))
      .reshape(self.rank() == 0 ? Shape{} : [&] {
        Shape sizes = x.shape();
        sizes[axis] = call.tensor("index").count();
        return sizes;
      }());
}

Tensor put_by_index(const Call& call) {
  if (call.flag("accumulate", false)) call.refuse("accumulate", "is true, which is not supported");
  return with_indexed(call.tensor("self"), call.tensors("indices"), call.tensor("values"));
}
Tensor put_by_number(const Call& call) {
  if (call.flag("accumulate", false)) call.refuse("accumulate", "is true, which is not supported");
  Tensor x = call.tensor("self"), index = call.tensor("index").to(i64);
  return with_elements_at(x, where(index < 0, index + x.count(), index), call.tensor("source"));
}

// The numbers of a diagonal's elements: the other axes, then the diagonal.
Tensor diagonal_numbers(const Call& call, const Tensor& x) {
  auto axis_at = [&](std::string_view name, int missing) {
    auto axis = normalise_axis(call.axis(name, missing), x.rank());
    require(axis.has_value(), "[exported] the axis of a diagonal is outside the rank ", x.rank());
    return *axis;
  };
  int a = axis_at("dim1", 0), b = axis_at("dim2", 1);
  std::int64_t offset = call.integer("offset", 0);
  std::int64_t down = std::max<std::int64_t>(-offset, 0), right = std::max<std::int64_t>(offset, 0);
  Strides all = row_major_strides(x.shape()), strides;
  Shape sizes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != a && axis != b) {
      sizes.push_back(x.shape()[axis]);
      strides.push_back(all[axis]);
    }
  sizes.push_back(std::max<std::int64_t>(std::min(x.shape()[a] - down, x.shape()[b] - right), 0));
  strides.push_back(all[a] + all[b]);
  return strided_numbers(sizes, strides, down * all[a] + right * all[b]);
}

// As if the tensor began its memory, row-major.
Tensor strided_elements(const Call& call) {
  return strided_numbers(call.integers("size"), call.integers("stride"),
                         call.integer("storage_offset", 0));
}

// The elements of the axis in the order that `places`, i64 [..], says; its axes take that place.
Tensor reordered(const Tensor& x, int axis, const Tensor& places) {
  return indexed(x, along(axis, places));
}
Tensor flipped(const Call& call) {
  Tensor x = call.tensor("self");
  for (int given : call.axes("dims")) {
    int axis = normalise_axis(given, std::max(x.rank(), 1)).value_or(0);
    if (x.rank() > 0) x = reordered(x, axis, x.size(axis) - 1 - arange(0, x.size(axis)));
  }
  return x;
}
Tensor windows(const Call& call) {
  Tensor self = call.tensor("self"), x = with_axis(self);
  int axis = axis_of(call, "dimension", x.rank());
  std::int64_t size = call.integer("size"), step = call.integer("step");
  require(size >= 0 && size <= x.size(axis) && step > 0, "[exported] windows of ", size,
          " elements every ", step, " do not fit axis ", axis, " of [", x.shape(), "]");
  std::int64_t count = (x.size(axis) - size) / step + 1;
  Tensor all = reordered(x, axis, strided_numbers({count, size}, {step, 1}));
  std::vector<int> order;
  for (int i = 0; i < all.rank(); ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  all = all.permute(order);
  return self.rank() == 0 ? all.reshape({size}) : all;
}

// self with the rows at `places` of the axis replaced.
Tensor with_rows(const Tensor& self, int axis, const Tensor& places, const Tensor& rows) {
  if (places.count() == 0) return self;
  Tensor result = self.clone();
  result.index_copy_(axis, places, rows.to(self.dtype()).contiguous());
  return result;
}
Tensor slice_replaced(const Call& call) {
  Tensor x = call.tensor("self");
  int axis = axis_of(call, "dim", x.rank());
  std::int64_t size = x.size(axis);
  auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  std::int64_t start = inside(call.integer("start", 0)),
               end = inside(call.integer("end", INT64_MAX));
  return with_rows(x, axis, arange(start, std::max(start, end), call.integer("step", 1)),
                   call.tensor("src"));
}
Tensor row_replaced(const Call& call) {
  Tensor x = call.tensor("self");
  int axis = axis_of(call, "dim", x.rank());
  std::int64_t at = call.integer("index");
  if (at < 0) at += x.size(axis);
  return with_rows(x, axis, full({1}, at, i64), call.tensor("src").unsqueeze(axis));
}

Tensor masked_replaced(const Call& call) {
  Tensor self = call.tensor("self"), mask = call.tensor("mask"), source = call.tensor("source");
  Shape both = broadcast_shapes(self.shape(), mask.shape()).value_or(self.shape());
  Tensor numbers = places_of_nonzero(mask.expand(both).reshape({element_count(both)})).select(1, 0);
  require(numbers.count() <= source.count(), "[exported] a mask has ", numbers.count(),
          " places; the source has ", source.count(), " elements");
  Tensor from = source.reshape({source.count()}).slice(0, 0, numbers.count());
  return with_elements_at(self.expand(both), numbers, from);
}

// Each number as often as it says, read on the host.
Tensor numbers_repeated(const Call& call) {
  std::vector<std::int64_t> repeats = call.tensor("repeats").to(i64).to_vector<std::int64_t>();
  std::vector<std::int64_t> numbers;
  std::int64_t wanted = call.integer("output_size", -1);
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    require(repeats[i] >= 0 && repeats[i] < INT32_MAX, "[exported] a number is repeated ",
            repeats[i], " times");
    numbers.insert(numbers.end(), static_cast<std::size_t>(repeats[i]),
                   static_cast<std::int64_t>(i));
  }
  require(wanted < 0 || wanted == std::ssize(numbers), "[exported] repeats give ", numbers.size(),
          " elements; the program says ", wanted);
  return Tensor::from(numbers, {std::ssize(numbers)});
}

// The rows of a table that the indices name, scaled to a norm of at most `max_norm`.
Tensor rows_scaled(const Call& call) {
  Tensor table = call.tensor("self"), indices = call.tensor("indices").to(i64);
  Tensor scaled = renorm(table, call.number("norm_type"), 0, call.number("max_norm"));
  Tensor none = zeros({table.size(0)}, DType::boolean);
  Tensor is_named = with_elements_at(none, indices.reshape({indices.count()}), full({}, 1));
  return where(is_named.unsqueeze(1), scaled, table);
}

constexpr Operator rows[] = {
    {"aten.embedding.default",
     [](const Call& c) { return embedding(c.tensor("indices"), c.tensor("weight")); }},
    {"aten.gather.default", by<gathered>},
    {"aten.index.Tensor",
     [](const Call& c) { return indexed(c.tensor("self"), c.tensors("indices")); }},
    {"aten.index_select.default", by<selected>},
    {"aten.index_put.default", by<put_by_index>},
    {"aten.put.default", by<put_by_number>},
    {"aten.scatter.src", by<scattered>},
    {"aten.scatter.value", by<scattered>},
    {"aten.nonzero.default", [](const Call& c) { return places_of_nonzero(c.tensor("self")); }},
    {"aten.masked_select.default",
     [](const Call& c) {
       Tensor mask = c.tensor("mask"), x = c.tensor("self");
       Shape both = broadcast_shapes(x.shape(), mask.shape()).value_or(x.shape());
       return indexed(with_axis(x.expand(both)), {with_axis(mask.expand(both))});
     }},
    {"aten.diagonal.default",
     [](const Call& c) {
       Tensor x = c.tensor("self");
       return elements_at(x, diagonal_numbers(c, x));
     }},
    {"aten.diagonal_scatter.default",
     [](const Call& c) {
       Tensor x = c.tensor("self");
       return with_elements_at(x, diagonal_numbers(c, x), c.tensor("src"));
     }},
    {"aten.as_strided.default",
     [](const Call& c) { return elements_at(c.tensor("self"), strided_elements(c)); }},
    {"aten.as_strided_scatter.default",
     [](const Call& c) {
       return with_elements_at(c.tensor("self"), strided_elements(c), c.tensor("src"));
     }},
    {"aten.flip.default", by<flipped>},
    {"aten.unfold.default", by<windows>},
    {"aten.slice_scatter.default", by<slice_replaced>},
    {"aten.select_scatter.default", by<row_replaced>},
    {"aten.constant_pad_nd.default",
     [](const Call& c) {
       return graph::padded(c.tensor("self"), c.integers("pad"), c.scalar("value", 0));
     }},
    {"aten.embedding_renorm.default", by<rows_scaled>},
    {"aten.masked_scatter.default", by<masked_replaced>},
    {"aten.repeat_interleave.Tensor", by<numbers_repeated>},
};

}  // namespace

std::span<const Operator> indexing_operators() { return rows; }

}  // namespace tilewright::exported
