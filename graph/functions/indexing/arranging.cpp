#include "graph/functions/indexing/arranging.h"

#include <algorithm>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

// Keeps the elements of the last two axes for which column - row is on this side of a diagonal's
// number.
using Side = Formula (*)(const Formula& offset, double diagonal);
Tensor triangle(std::string_view name, const TensorOperand& x, std::int64_t diagonal, Side side) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  require(given.rank() >= 2, "[", name, "] x is ", given.shape(), " (at ", At{w},
          "); it must have two axes at least");
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Shape& sizes = t[0].shape();
    Formula offset = graph::places_along(sizes, sizes.rank() - 1, w) -
                     graph::places_along(sizes, sizes.rank() - 2, w);
    Formula whole = graph::spread(t[0], sizes, w);
    return {choice(side(offset, static_cast<double>(diagonal)), whole, 0).tensor()};
  };
  return graph::apply_function(name, {&given, 1}, {diagonal}, function, w)[0];
}

Tensor rolled(const Tensor& x, int axis, std::int64_t shift, source_location w) {
  const std::int64_t size = x.size(axis);
  if (size == 0) return x;
  const std::int64_t cut = (size - shift % size) % size;
  return cat({x.slice(axis, cut, size, 1, w), x.slice(axis, 0, cut, 1, w)}, axis, w);
}

}  // namespace

Tensor flip(const TensorOperand& x, const std::vector<int>& axes) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "flip");
  std::vector<int> along;
  for (int axis : axes) along.push_back(graph::axis_or_only(axis, given.shape(), "flip", w));
  std::ranges::sort(along);
  auto twice = std::ranges::adjacent_find(along);
  require(twice == along.end(), "[flip] axis ", twice == along.end() ? 0 : *twice,
          " is named twice (at ", At{w}, "); each axis may be named once");
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor result = graph::with_axis(t[0], w);
    for (int axis : along) {
      const std::int64_t size = result.size(axis);
      if (size > 1) result = graph::backwards(result, axis, size - 1, size, w);
    }
    return {graph::reshape_operand(result, t[0].shape(), w).clone(w)};
  };
  return graph::apply_function("flip", {&given, 1}, {along.begin(), along.end()}, function, w)[0];
}
Tensor fliplr(const TensorOperand& x) {
  require(graph::tensor_of(x, "fliplr").rank() >= 2, "[fliplr] x is ", x.tensor.shape(), " (at ",
          At{x.where}, "); it must have two axes at least");
  return flip(x, {1});
}
Tensor flipud(const TensorOperand& x) {
  require(graph::tensor_of(x, "flipud").rank() >= 1, "[flipud] x has no axes (at ", At{x.where},
          "); it must have one at least");
  return flip(x, {0});
}

Tensor roll(const TensorOperand& x, const Sizes& shifts, const Axes& moved) {
  const std::vector<int>& axes = moved.list();
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "roll");
  const std::size_t wanted = std::max<std::size_t>(axes.size(), 1);
  require(shifts.size() == wanted, "[roll] there are ", shifts.size(), " shifts and ", axes.size(),
          " axes (at ", At{w}, "); there must be ", wanted, wanted == 1 ? " shift" : " shifts");
  std::vector<int> along;
  std::vector<Number> settings(shifts.begin(), shifts.end());
  for (int axis : axes) along.push_back(graph::axis_or_only(axis, given.shape(), "roll", w));
  settings.insert(settings.end(), along.begin(), along.end());
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor whole = graph::with_axis(t[0], w);
    if (along.empty())
      whole = rolled(graph::reshape_operand(whole, {whole.count()}, w), 0, shifts[0], w);
    for (std::size_t i = 0; i < along.size(); ++i)
      whole = rolled(whole, along[i], shifts[static_cast<int>(i)], w);
    return {graph::reshape_operand(whole, t[0].shape(), w)};
  };
  return graph::apply_function("roll", {&given, 1}, settings, function, w)[0];
}

Tensor tril(const TensorOperand& x, std::int64_t diagonal) {
  return triangle("tril", x, diagonal, [](const Formula& offset, double k) { return offset <= k; });
}
Tensor triu(const TensorOperand& x, std::int64_t diagonal) {
  return triangle("triu", x, diagonal, [](const Formula& offset, double k) { return offset >= k; });
}

Tensor diag_embed(const TensorOperand& x, std::int64_t offset, int a, int b) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "diag_embed");
  require(given.rank() > 0, "[diag_embed] x has no axes (at ", At{w}, "); it must have one");
  const Shape all(given.shape().size() + 1, 1);
  const int row_axis = graph::axis_of(a, all, "diag_embed", w),
            column_axis = graph::axis_of(b, all, "diag_embed", w);
  require(row_axis != column_axis, "[diag_embed] rows and columns are both axis ", row_axis,
          " (at ", At{w}, "); they must be two axes");
  const std::int64_t more = offset < 0 ? -offset : offset;
  require(more <= INT32_MAX, "[diag_embed] the offset is ", offset, " (at ", At{w},
          "); it must be in [-2^31, 2^31)");
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Shape zeros_behind = t[0].shape(), apart, sizes;
    zeros_behind[-1] = more;
    Tensor longer =
        more == 0 ? t[0] : cat({t[0], graph::constant(t[0].dtype(), zeros_behind, 0, w)}, -1, w);
    const std::int64_t side = longer.size(-1);
    apart = sizes = longer.shape();
    sizes.push_back(side);
    // Element i is in row i of the diagonals above, and in column i of those below.
    apart.insert(offset < 0 ? apart.end() - 1 : apart.end(), 1);
    const int last = sizes.rank() - 1;
    Formula place = graph::places_along(sizes, last, w) - graph::places_along(sizes, last - 1, w);
    Formula spread = graph::spread(graph::reshape_operand(longer, apart, w), sizes, w);
    Tensor squares = choice(place == static_cast<double>(offset), spread, 0).tensor();
    std::vector<int> order;
    for (int axis = 0, next = 0; axis <= last; ++axis)
      order.push_back(axis == row_axis ? last - 1 : axis == column_axis ? last : next++);
    return {squares.permute(order, w)};
  };
  return graph::apply_function("diag_embed", {&given, 1}, {offset, row_axis, column_axis}, function,
                               w)[0];
}

Tensor diag(const TensorOperand& x, std::int64_t offset) {
  const int rank = graph::tensor_of(x, "diag").rank();
  require(rank == 1 || rank == 2, "[diag] x is ", x.tensor.shape(), " (at ", At{x.where},
          "); it must be a vector or a matrix");
  return rank == 1 ? diag_embed(x, offset) : diagonal(x, offset);
}

Tensor fill_diagonal(const TensorOperand& operand, const TensorOperand& value, bool wraps) {
  return graph::of_user_call("fill_diagonal", operand.where, [&] {
    const Tensor& x = graph::tensor_of(operand, "fill_diagonal");
    require(x.rank() >= 2, "[fill_diagonal] x is ", x.shape(), " (at ", At{operand.where},
            "); it must have two axes at least");
    auto along = [&](int axis) {
      Shape sizes(static_cast<std::size_t>(x.rank()), 1);
      sizes[axis] = x.size(axis);
      return arange(0, x.size(axis)).reshape(sizes);
    };
    const bool repeats = wraps && x.rank() == 2 && x.size(0) > x.size(1);
    const Tensor first = repeats ? remainder(along(0), x.size(1) + 1) : along(0);
    Tensor is_on = ones({}, DType::boolean);
    for (int axis = 1; axis < x.rank(); ++axis) is_on = logical_and(is_on, first == along(axis));
    return where(is_on, value, x).to(x.dtype());
  });
}

// The places for which `is_wanted(column - row)`.
template <typename Wanted>
static Tensor places_of(std::string_view name, std::int64_t rows, std::int64_t columns,
                        source_location w, const Wanted& is_wanted) {
  require(rows >= 0 && columns >= 0, "[", name, "] ", rows, " rows and ", columns, " columns (at ",
          At{w}, "); neither may be negative");
  std::vector<std::int64_t> places, of_columns;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      if (!is_wanted(column - row)) continue;
      places.push_back(row);
      of_columns.push_back(column);
    }
  const std::int64_t count = std::ssize(places);
  places.insert(places.end(), of_columns.begin(), of_columns.end());
  return graph::constant_of(places, {2, count});
}
Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                    source_location w) {
  return places_of("tril_indices", rows, columns, w, [=](auto i) { return i <= offset; });
}
Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                    source_location w) {
  return places_of("triu_indices", rows, columns, w, [=](auto i) { return i >= offset; });
}

}  // namespace tilewright
