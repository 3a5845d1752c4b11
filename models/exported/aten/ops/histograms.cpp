// Histograms of exported programs: of one axis between edges that are given, and of several axes.
#include "graph/functions/indexing/histograms.h"

#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace histogram_rows {
namespace {

using Tensors = std::vector<Tensor>;

constexpr std::int64_t most_bins = std::int64_t{1} << 26;

std::optional<std::pair<double, double>> range_of(const Call& call, std::size_t axis,
                                                  std::size_t axes) {
  if (!call.has("range")) return std::nullopt;
  const std::vector<double> range = call.numbers("range");
  if (range.size() != 2 * axes)
    call.refuse("range", concat("has ", range.size(), " numbers; ", 2 * axes, " are wanted"));
  return std::pair(range[2 * axis], range[2 * axis + 1]);
}

// Elements [n, axes] that fall between the edges of each axis; the last bin has its right edge.
Tensor counted(const Call& call, const Tensor& x, const Tensors& edges, const Tensor& weight) {
  Shape bins;
  for (const Tensor& each : edges) {
    if (each.rank() != 1 || each.count() < 2)
      call.refuse("bins", concat("has edges [", each.shape(), "]; at least two are wanted"));
    bins.push_back(each.count() - 1);
  }
  if (element_count(bins) > most_bins)
    call.refuse("bins", concat("are ", bins, "; at most ", most_bins, " are supported"));
  const Tensor weights =
      weight.defined() ? weight.reshape({x.size(0)}) : ones({x.size(0)}, x.dtype());
  Tensor place = zeros({x.size(0)}, i64), is_inside = ones({x.size(0)}, DType::boolean);
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    const auto at = static_cast<int>(axis);
    const Tensor values = x.select(1, at).contiguous(), limits = edges[axis].to(x.dtype());
    const Tensor first = limits.slice(0, 0, 1), last = limits.slice(0, bins[at], bins[at] + 1);
    const Tensor found = bucketize(values, limits, true) - 1;
    is_inside = logical_and(is_inside, logical_and(values >= first, values <= last));
    place = place * bins[at] + minimum(found, bins[at] - 1);
  }
  // What is in none adds nothing to the first.
  const Tensor added = where(is_inside, weights, 0.0).to(x.dtype());
  const Tensor sums = index_add(zeros({element_count(bins)}, x.dtype()), 0,
                                where(is_inside, place, std::int64_t{0}), added);
  Tensor counts = sums.reshape(bins);
  if (!call.flag("density", false)) return counts;
  counts = counts / sum(sums);
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    const std::int64_t count = edges[axis].count();
    Shape sizes(edges.size(), 1);
    sizes[static_cast<int>(axis)] = count - 1;
    const Tensor widths = edges[axis].slice(0, 1, count) - edges[axis].slice(0, 0, count - 1);
    counts = counts / widths.reshape(sizes);
  }
  return counts.to(x.dtype());
}

Tensor points_of(const Call& call) {
  const Tensor x = call.tensor("self");
  if (x.rank() < 2 || !is_floating(x.dtype()))
    call.refuse("self",
                concat("is ", x.dtype(), " [", x.shape(), "]; floats [.., axes] are wanted"));
  return x.reshape({x.count() / std::max<std::int64_t>(1, x.size(-1)), x.size(-1)});
}

Tensors edges_of(const Call& call, const Tensor& x) {
  const auto axes = static_cast<std::size_t>(x.size(1));
  Shape bins;
  if (call.node().target == "aten.histogramdd.int_bins")
    bins = Shape(axes, call.integer("bins"));
  else
    bins = call.integers("bins");
  if (static_cast<std::size_t>(bins.rank()) != axes)
    call.refuse("bins", concat("are of ", bins.rank(), " axes; the points have ", axes));
  Tensors edges;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto at = static_cast<int>(axis);
    edges.push_back(
        histogram(x.select(1, at).contiguous(), bins[at], {.range = range_of(call, axis, axes)})
            .second);
  }
  return edges;
}
Tensors given_edges(const Call& call, const Tensor& x) {
  Tensors edges = call.tensors("bins");
  if (static_cast<std::int64_t>(edges.size()) != x.size(1))
    call.refuse("bins", concat("are of ", edges.size(), " axes; the points have ", x.size(1)));
  call.has("range");
  return edges;
}

Results of_edges(const Call& call) {
  const Tensor x = points_of(call);
  call.has("weight");
  call.has("density");
  const Tensors edges = edges_of(call, x);
  return {edges.begin(), edges.end()};
}
using Edges = Tensors (*)(const Call& call, const Tensor& x);
template <Edges edges>
Tensor counts_of(const Call& call) {
  const Tensor x = points_of(call);
  return counted(call, x, edges(call, x), call.optional_tensor("weight"));
}
template <Edges edges>
Results counts_and_edges(const Call& call) {
  const Tensor x = points_of(call);
  const Tensors found = edges(call, x);
  Results results = {counted(call, x, found, call.optional_tensor("weight"))};
  results.insert(results.end(), found.begin(), found.end());
  return results;
}
Results between_edges(const Call& call) {
  const Tensor x = call.tensor("self"), edges = call.tensor("bins");
  return {counted(call, x.reshape({x.count(), 1}), {edges}, call.optional_tensor("weight")), edges};
}

constexpr Operator rows[] = {
    {"aten.histogram.bins_tensor", by<between_edges>},
    {"aten._histogramdd_bin_edges.default", by<of_edges>},
    {"aten._histogramdd_from_bin_cts.default", by<counts_of<edges_of>>},
    {"aten._histogramdd_from_bin_tensors.default", by<counts_of<given_edges>>},
    {"aten.histogramdd.default", by<counts_and_edges<edges_of>>},
    {"aten.histogramdd.int_bins", by<counts_and_edges<edges_of>>},
    {"aten.histogramdd.TensorList_bins", by<counts_and_edges<given_edges>>},
};

}  // namespace
}  // namespace histogram_rows

std::span<const Operator> histogram_operators() { return histogram_rows::rows; }

}  // namespace tilewright::exported
