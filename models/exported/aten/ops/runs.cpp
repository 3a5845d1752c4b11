// Operators on runs of equal elements: what is unique, and what occurs most often.
#include <limits>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace run_rows {
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
// By a mask [n] of where runs begin. How many there are is read on the host.
Runs runs_of(const Tensor& starts) {
  const std::int64_t size = starts.count();
  Tensor places = nonzero(starts).reshape({-1});
  Tensor number = cumsum(starts.to(i64), 0) - 1;
  Tensor ends = places.count() == 0
                    ? places
                    : cat({places.slice(0, 1, places.count()), full({1}, size, i64)}, 0);
  return {places, number, ends - places};
}

// What nobody asks for is an empty tensor in PyTorch.
Results unique_results(const Call& call, const Tensor& values, const Tensor& number,
                       const Tensor& lengths) {
  const Tensor none = zeros({0}, i64);
  const bool wants_number = call.flag("return_inverse", false),
             wants_lengths = call.flag("return_counts", false);
  return {values, wants_number ? number : none, wants_lengths ? lengths : none};
}

// One of neighbours that are equal: elements, or slices along an axis.
Results unique_neighbours(const Call& call) {
  Tensor x = call.tensor("self");
  if (!call.has("dim")) {
    const Runs runs = runs_of(begins(x.reshape({x.count()}), 0));
    return unique_results(call, index_select(x.reshape({x.count()}), 0, runs.places),
                          runs.number.reshape(x.shape()), runs.lengths);
  }
  const int named = call.axis("dim");
  const auto axis = normalise_axis(named, x.rank());
  if (!axis) call.refuse("dim", concat("is ", named, "; the tensor is [", x.shape(), "]"));
  Tensor slices = x.transpose(0, *axis).reshape({x.size(*axis), -1});
  const Runs runs = runs_of(any(begins(slices, 0), {1}));
  return unique_results(call, index_select(x, *axis, runs.places), runs.number, runs.lengths);
}

Results unique_elements(const Call& call) {
  call.flag("sorted", true);  // which any order is
  Tensor x = call.tensor("self");
  auto [values, order] = sort(x.reshape({x.count()}), 0);
  const Runs runs = runs_of(begins(values, 0));
  Tensor number = scatter(zeros({x.count()}, i64), 0, order, runs.number);
  return unique_results(call, index_select(values, 0, runs.places), number.reshape(x.shape()),
                        runs.lengths);
}

// The least of the elements that occur most often along an axis, and the last place of it.
std::pair<Tensor, Tensor> most_frequent(const Call& call) {
  Tensor x = call.tensor("self");
  const bool keeps = call.flag("keepdim", false);
  const int axis = call.axis("dim", -1);
  if (x.rank() == 0) return {x, zeros({}, i64)};
  auto [values, order] = sort(x, axis);
  const std::int64_t size = x.size(axis);
  require(size > 0, "[exported] no element is the most frequent of none");
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[*normalise_axis(axis, x.rank())] = size;
  Tensor place = arange(0, size).reshape(along);
  // Of each element's run, up to it: the greatest is at the end of the longest run.
  Tensor start = cummax(where(begins(values, axis), place, std::int64_t{0}), axis).first;
  Tensor last = argmax(place - start, axis, true);
  Tensor value = gather(values, axis, last), index = gather(order, axis, last);
  return keeps ? std::pair(value, index) : std::pair(value.squeeze(axis), index.squeeze(axis));
}

constexpr Operator rows[] = {
    {"aten.mode.default", by<most_frequent>},
    {"aten.unique_consecutive.default", by<unique_neighbours>},
    {"aten._unique2.default", by<unique_elements>},
};

}  // namespace
}  // namespace run_rows

std::span<const Operator> run_operators() { return run_rows::rows; }

}  // namespace tilewright::exported
