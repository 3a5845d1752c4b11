#include "graph/functions/ordering/runs.h"

#include <algorithm>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

// Whether each slice along the axis differs from the one before; the first does.
Tensor begins(const Tensor& x, int axis) {
  const std::int64_t size = x.size(axis);
  Shape first = x.shape();
  first[axis] = std::min<std::int64_t>(size, 1);
  if (size < 2) return ones(first, DType::boolean);
  return cat({ones(first, DType::boolean), x.slice(axis, 1, size) != x.slice(axis, 0, size - 1)},
             axis);
}

struct Runs {
  Tensor places, number, lengths;  // of their first elements; of each element's run; of runs
};
// By a mask [n] of where runs begin.
Runs runs_of(const Tensor& starts) {
  const std::int64_t size = starts.count();
  const Tensor places = nonzero(starts).reshape({-1});
  const Tensor number = cumsum(starts.to(DType::i64), 0) - 1;
  const Tensor ends =
      places.count() == 0
          ? places
          : cat({places.slice(0, 1, places.count()), full({1}, size, DType::i64)}, 0);
  return {places, number, ends - places};
}

// In each column of keys [n, width], the number of keys below each key that differ.
Tensor ranks_of(const Tensor& keys) {
  const auto [values, order] = sort(keys, 0);
  const Tensor number = cumsum(begins(values, 0).to(DType::i64), 0) - 1;
  return scatter(zeros(keys.shape(), DType::i64), 0, order, number);
}

// The same of the rows of x [n, width], in lexicographic order: two halves of a row are compared by
// their ranks, which are found in the same way.
Tensor ranks_of_rows(const Tensor& x) {
  const std::int64_t count = x.size(0);
  Tensor ranks = ranks_of(x);
  while (ranks.size(1) > 1) {
    const std::int64_t width = ranks.size(1), even = width / 2 * 2;
    Tensor pairs = ranks.slice(1, 0, even, 2) * count + ranks.slice(1, 1, even, 2);
    if (width > even) pairs = cat({pairs, ranks.slice(1, even, width) * count}, 1);
    ranks = ranks_of(pairs);
  }
  return ranks.reshape({count});
}

UniqueResult unique_slices(const Tensor& x, int axis, std::source_location w) {
  const std::int64_t size = x.size(axis);
  const Tensor none = zeros({0}, DType::i64);
  if (size == 0 && std::ranges::count(x.shape(), 0) == 1) return {x, none, none};
  require(x.count() > 0, "[unique] slices of ", x.shape(), " along axis ", axis,
          " have no elements (at ", At{w}, "); name an axis such that no other one is empty");
  const Tensor number = ranks_of_rows(x.transpose(0, axis).reshape({size, x.count() / size}));
  auto [values, order] = sort(number, 0);
  const Runs runs = runs_of(begins(values, 0));
  return {index_select(x, axis, index_select(order, 0, runs.places)), number, runs.lengths};
}

}  // namespace

UniqueResult unique_consecutive(const TensorOperand& operand, std::optional<int> axis) {
  return graph::of_user_call("unique_consecutive", operand.where, [&]() -> UniqueResult {
    const Tensor& x = graph::tensor_of(operand, "unique_consecutive");
    if (!axis) {
      const Tensor flat = x.reshape({x.count()});
      const Runs runs = runs_of(begins(flat, 0));
      return {index_select(flat, 0, runs.places), runs.number.reshape(x.shape()), runs.lengths};
    }
    const int along = graph::axis_of(*axis, x.shape(), "unique_consecutive", operand.where);
    const std::int64_t size = x.size(along), width = x.count() / std::max<std::int64_t>(size, 1);
    const Tensor slices = x.transpose(0, along).reshape({size, width});
    const Runs runs = runs_of(any(begins(slices, 0), {1}));
    return {index_select(x, along, runs.places), runs.number, runs.lengths};
  });
}

UniqueResult unique(const TensorOperand& operand, std::optional<int> axis) {
  return graph::of_user_call("unique", operand.where, [&]() -> UniqueResult {
    const Tensor& x = graph::tensor_of(operand, "unique");
    if (axis)
      return unique_slices(x, graph::axis_of(*axis, x.shape(), "unique", operand.where),
                           operand.where);
    auto [values, order] = sort(x.reshape({x.count()}), 0);
    const Runs runs = runs_of(begins(values, 0));
    const Tensor number = scatter(zeros({x.count()}, DType::i64), 0, order, runs.number);
    return {index_select(values, 0, runs.places), number.reshape(x.shape()), runs.lengths};
  });
}

std::pair<Tensor, Tensor> mode(const TensorOperand& operand, int axis, bool keep_dims) {
  return graph::of_user_call("mode", operand.where, [&]() -> std::pair<Tensor, Tensor> {
    const Tensor& x = graph::tensor_of(operand, "mode");
    if (x.rank() == 0) return {x, zeros({}, DType::i64)};
    const int along = graph::axis_of(axis, x.shape(), "mode", operand.where);
    const std::int64_t size = x.size(along);
    require(size > 0, "[mode] the axis has no elements (at ", At{operand.where},
            "); there must be one at least");
    auto [values, order] = sort(x, along);
    Shape sizes(static_cast<std::size_t>(x.rank()), 1);
    sizes[along] = size;
    const Tensor place = arange(0, size).reshape(sizes);
    // How long each element's run is up to it; the longest run ends where this is greatest.
    const Tensor start = cummax(where(begins(values, along), place, std::int64_t{0}), along).first;
    const Tensor last = argmax(place - start, along, true);
    const Tensor value = gather(values, along, last), index = gather(order, along, last);
    if (keep_dims) return {value, index};
    return {value.squeeze(along), index.squeeze(along)};
  });
}

}  // namespace tilewright
