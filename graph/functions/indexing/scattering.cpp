#include "graph/functions/indexing/scattering.h"

#include "graph/functions/indexing/along_axis.h"
#include "graph/functions/indexing/replacement.h"
#include "graph/ir/location.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// The source as far as the index goes, in its sizes.
Tensor source_of(const Tensor& x, const Tensor& source, const Tensor& index, source_location w) {
  graph::require_dtype_of(x, source, "scatter", w);
  Tensor part = graph::with_axis(source, w), places = graph::with_axis(index, w);
  bool fits = part.rank() == places.rank();
  for (int i = 0; fits && i < part.rank(); ++i) fits = places.shape()[i] <= part.shape()[i];
  require(fits || index.count() == 0, "[scatter] the index has the shape ", index.shape(),
          ", the source ", source.shape(), " (at ", At{w},
          "); there must be an element of the source for each of the index");
  if (index.count() == 0) return part;
  for (int i = 0; i < part.rank(); ++i) part = part.slice(i, 0, places.shape()[i], 1, w);
  return part;
}

Tensor replaced_along(std::string_view name, const TensorOperand& x, int axis, const Tensor& index,
                      const Tensor& source, bool counts_from_end) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const Tensor places = graph::index_operand(index, name, w);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  const std::int64_t size = graph::with_axis(given, w).shape()[along];
  require(places.rank() <= 1, "[", name, "] the index is ", places.shape(), " (at ", At{w},
          "); it must have one axis at most");
  graph::require_inside(places, counts_from_end ? -size : 0, size, name, w);
  const Tensor operands[] = {given, places, source};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor whole = graph::with_axis(t[0], w), at = graph::with_axis(t[1], w);
    if (counts_from_end) at = graph::from_end({at.to(DType::i64, w), w}, size).tensor();
    return {graph::with_parts_at(whole, along, at, t[2], w).reshape(t[0].shape(), w)};
  };
  return graph::apply_function(name, operands, {along}, function, w)[0];
}

Tensor scattered_along(std::string_view name, const TensorOperand& x, int axis, const Tensor& index,
                       const TensorOperand& source, bool counts_from_end) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  const Tensor places = graph::index_along(given, along, index, counts_from_end, name, w);
  const Tensor from = source.is_number
                          ? graph::filler(given, source, name, w)
                          : source_of(given, graph::tensor_of(source, name), places, w);
  const Tensor operands[] = {given, places, from};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor numbers = graph::numbers_along(t[0], along, t[1], counts_from_end, w);
    return {graph::with_elements_at(t[0], numbers, t[2], w)};
  };
  return graph::apply_function(name, operands, {along}, function, w)[0];
}

}  // namespace

Tensor scatter(const TensorOperand& x, int axis, const Tensor& index, const TensorOperand& source) {
  return scattered_along("scatter", x, axis, index, source, false);
}
Tensor scatter_elements(const TensorOperand& x, int axis, const Tensor& index,
                        const TensorOperand& source) {
  return scattered_along("scatter_elements", x, axis, index, source, true);
}

Tensor index_copy(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source) {
  if (const graph::AutocastCall cast("index_copy", x.where, {x.tensor, source}); cast.is_listed())
    return index_copy(cast(x), axis, index, cast(source));
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "index_copy");
  const Tensor from = graph::with_axis(graph::tensor_of({source, w}, "index_copy"), w);
  graph::require_dtype_of(given, from, "index_copy", w);
  Shape wanted = graph::with_axis(given, w).shape();
  wanted[graph::axis_or_only(axis, given.shape(), "index_copy", w)] =
      graph::index_operand(index, "index_copy", w).count();
  require(from.shape() == wanted, "[index_copy] x is ", given.shape(), ", the index ",
          index.shape(), ", the source ", source.shape(), " (at ", At{w}, "); the source must be ",
          wanted);
  return replaced_along("index_copy", x, axis, index, from, false);
}

Tensor index_fill(const TensorOperand& x, int axis, const Tensor& index,
                  const TensorOperand& value) {
  const Tensor& given = graph::tensor_of(x, "index_fill");
  return replaced_along("index_fill", x, axis, index,
                        graph::filler(given, value, "index_fill", x.where), true);
}

}  // namespace tilewright
