#include "graph/functions/indexing/gathering.h"

#include <algorithm>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/along_axis.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

Tensor gathered_along(std::string_view name, const TensorOperand& x, int axis, const Tensor& index,
                      bool counts_from_end) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  const Tensor places = graph::index_along(given, along, index, counts_from_end, name, w);
  const Tensor operands[] = {given, places};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor numbers = graph::numbers_along(t[0], along, t[1], counts_from_end, w);
    return {graph::elements_at(t[0], numbers, w).reshape(t[1].shape(), w)};
  };
  return graph::apply_function(name, operands, {along}, function, w)[0];
}

}  // namespace

Tensor gather(const TensorOperand& x, int axis, const Tensor& index) {
  return gathered_along("gather", x, axis, index, false);
}
Tensor gather_elements(const TensorOperand& x, int axis, const Tensor& index) {
  return gathered_along("gather_elements", x, axis, index, true);
}

Tensor take(const TensorOperand& x, const Tensor& index) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "take");
  const Tensor places = graph::index_operand(index, "take", w);
  const std::int64_t size = given.count();
  require(size > 0 || places.count() == 0, "[take] x is ", given.shape(), " (at ", At{w},
          "); it has no elements to take");
  graph::require_inside(places, -size, size, "take", w);
  const Tensor operands[] = {given, places};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    graph::Formula numbers = graph::from_end({t[1].to(DType::i64, w), w}, size);
    numbers = graph::inside_or_none(numbers, size).to(graph::dtype_of_numbers(size));
    return {graph::elements_at(t[0], numbers.tensor(), w)};
  };
  return graph::apply_function("take", operands, {}, function, w)[0];
}

Tensor take_along_dim(const TensorOperand& x, const Tensor& index, std::optional<int> axis) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "take_along_dim");
  const Tensor places = graph::index_operand(index, "take_along_dim", w);
  if (!axis)
    return gather({graph::reshape_operand(given, {given.count()}, w), w}, 0,
                  graph::reshape_operand(places, {places.count()}, w));
  require(places.rank() == given.rank(), "[take_along_dim] the index is ", places.shape(),
          ", x is ", given.shape(), " (at ", At{w}, "); they must have as many axes");
  const int along = graph::axis_or_only(*axis, given.shape(), "take_along_dim", w);
  const std::int64_t size = graph::with_axis(given, w).shape()[along];
  graph::require_inside(places, -size, size, "take_along_dim", w);
  if (given.rank() == 0) return take({given, w}, places);
  Shape of_x = given.shape(), of_index = places.shape();
  of_x[along] = of_index[along] = 1;
  std::optional<Shape> both = broadcast_shapes(of_x, of_index);
  require(both.has_value(), "[take_along_dim] the index is ", places.shape(), ", x is ",
          given.shape(), " (at ", At{w}, "); they must broadcast but for axis ", along);
  of_x = of_index = *both;
  of_x[along] = given.shape()[along];
  of_index[along] = places.shape()[along];
  const Tensor operands[] = {given, places};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor whole = graph::spread(t[0], of_x, w).tensor();
    graph::Formula at = graph::spread(t[1].to(DType::i64, w), of_index, w);
    Tensor numbers = graph::numbers_along(whole, along, at.tensor(), true, w);
    return {graph::elements_at(whole, numbers, w)};
  };
  return graph::apply_function("take_along_dim", operands, {along}, function, w)[0];
}

Tensor index_select(const TensorOperand& x, int axis, const Tensor& index) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "index_select");
  const Tensor places = graph::index_operand(index, "index_select", w);
  const int along = graph::axis_or_only(axis, given.shape(), "index_select", w);
  require(places.rank() <= 1, "[index_select] the index is ", places.shape(), " (at ", At{w},
          "); it must have one axis at most");
  require(given.rank() > 0 || places.count() == 1, "[index_select] the index has ", places.count(),
          " elements, x has no axes (at ", At{w}, "); there must be one");
  const std::int64_t size = given.rank() == 0 ? 1 : given.shape()[along];
  graph::require_inside(places, 0, size, "index_select", w);
  const Tensor operands[] = {given, places};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor parts = graph::parts_at(graph::with_axis(t[0], w), along, graph::with_axis(t[1], w), w);
    return {given.rank() == 0 ? parts.reshape({}, w) : parts};
  };
  return graph::apply_function("index_select", operands, {along}, function, w)[0];
}

namespace {

// Indices brought inside x.
std::vector<Tensor> bounded(const Tensor& x, std::vector<Tensor> indices) {
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i].defined()) {
      const std::int64_t size = x.shape().at(i);
      indices[i] = clamp(indices[i], -size, std::max<std::int64_t>(size - 1, 0));
    }
  return indices;
}
Tensor beside_elements(const Tensor& mask, const Tensor& elements) {
  Tensor wide = mask;
  while (wide.rank() < elements.rank()) wide = wide.unsqueeze(wide.rank());
  return wide;
}

}  // namespace

Tensor masked_index(const TensorOperand& x, const Tensor& mask, std::vector<Tensor> indices,
                    const TensorOperand& fill) {
  return graph::of_user_call("masked_index", x.where, [&] {
    const Tensor& given = graph::tensor_of(x, "masked_index");
    const Tensor found = index(given, bounded(given, std::move(indices)));
    return where(beside_elements(mask, found), found, fill);
  });
}
Tensor masked_index_add(const TensorOperand& x, const Tensor& mask, std::vector<Tensor> indices,
                        const Tensor& values) {
  return graph::of_user_call("masked_index_add", x.where, [&] {
    const Tensor& given = graph::tensor_of(x, "masked_index_add");
    const Tensor counted = where(beside_elements(mask, values), values, 0).to(values.dtype());
    return index_put(given, bounded(given, std::move(indices)), counted, true);
  });
}

Tensor reverse_sequences(const TensorOperand& x, const Tensor& lengths, bool batch_first) {
  return graph::of_user_call("reverse_sequences", x.where, [&] {
    const Tensor& given = graph::tensor_of(x, "reverse_sequences");
    require(given.rank() >= 2 && lengths.count() == given.size(batch_first ? 0 : 1),
            "[reverse_sequences] x is ", given.shape(), ", the lengths ", lengths.shape(),
            "; axes of time and batch, and a length for each of the batch are wanted");
    const Tensor by_time = batch_first ? given.transpose(0, 1) : given;
    const std::int64_t steps = by_time.size(0), sequences = by_time.size(1);
    const Tensor at = arange(0, steps).reshape({steps, 1}),
                 length = lengths.to(i64).reshape({1, sequences}),
                 places = where(at < length, length - 1 - at, at.expand({steps, sequences})),
                 numbers = arange(0, sequences).reshape({1, sequences}).expand({steps, sequences}),
                 result = index(by_time.contiguous(), {places, numbers});
    return batch_first ? result.transpose(0, 1) : result;
  });
}

Tensor one_hot(const TensorOperand& x, std::int64_t classes) {
  auto w = x.where;
  const graph::UserCall call("one_hot", w);
  const Tensor named = graph::index_operand(graph::tensor_of(x, "one_hot"), "one_hot", w);
  require(classes >= -1 && classes != 0, "[one_hot] there are ", classes, " classes (at ", At{w},
          "); there must be at least 1, or -1 for as many as x names");
  if (classes == -1) {
    require(named.count() > 0, "[one_hot] x is ", named.shape(), " (at ", At{w},
            "); say how many classes there are where it names none");
    classes = amax({named, w}).to(DType::i64, w).item<std::int64_t>(w) + 1;
  }
  graph::require_inside(named, 0, classes, "one_hot", w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Shape apart = t[0].shape(), sizes = apart;
    apart.push_back(1);
    sizes.push_back(classes);
    Tensor own = graph::reshape_operand(t[0].to(DType::i64, w), apart, w);
    graph::Formula is_own =
        graph::spread(own, sizes, w) == graph::places_along(sizes, sizes.rank() - 1, w);
    return {is_own.to(DType::i64).tensor()};
  };
  return graph::apply_function("one_hot", {&named, 1}, {classes}, function, w)[0];
}

Tensor one_hot(const TensorOperand& x, std::int64_t classes, const Tensor& values, int axis) {
  const source_location w = x.where;
  return graph::of_user_call("one_hot", w, [&] {
    const Tensor& given = graph::tensor_of(x, "one_hot");
    require(classes > 0 && values.count() == 2 && axis >= 0 && axis <= given.rank(), "[one_hot] ",
            classes, " classes along axis ", axis, " of x ", given.shape(), ", of values ",
            values.shape(), " (at ", At{w},
            "); a class at least, a new axis and two values are wanted");
    const Tensor named = graph::from_end({given.to(i64, w), w}, classes).tensor();
    Shape sizes(static_cast<std::size_t>(given.rank()) + 1, 1);
    sizes[axis] = classes;
    const Tensor is_on = named.unsqueeze(axis) == arange(0, classes).reshape(sizes);
    return where(is_on, values.select(0, 1), values.select(0, 0));
  });
}

}  // namespace tilewright
