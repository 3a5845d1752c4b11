// Histograms between edges that are given, of one axis and of several.
#include <algorithm>

#include "graph/functions/indexing/histograms.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

constexpr std::int64_t most_bins = std::int64_t{1} << 26;

struct Counting {
  std::string_view name;
  Tensor weight;
  bool density;
  source_location where;
};

// Along each axis; raises `Error` for edges that are none and for too many bins.
Shape bins_of(const std::vector<Tensor>& edges, const Counting& how) {
  Shape bins;
  for (const Tensor& each : edges) {
    require(each.rank() == 1 && each.count() >= 2, "[", how.name, "] edges are [", each.shape(),
            "] (at ", At{how.where}, "); at least two are wanted");
    bins.push_back(each.count() - 1);
  }
  require(element_count(bins) <= most_bins, "[", how.name, "] the bins are ", bins, " (at ",
          At{how.where}, "); at most ", most_bins, " are supported");
  return bins;
}

Tensor densities(const Tensor& counts, const Tensor& total, const std::vector<Tensor>& edges) {
  Tensor result = counts / total;
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    const std::int64_t count = edges[axis].count();
    Shape sizes(edges.size(), 1);
    sizes[static_cast<int>(axis)] = count - 1;
    const Tensor widths = edges[axis].slice(0, 1, count) - edges[axis].slice(0, 0, count - 1);
    result = result / widths.reshape(sizes);
  }
  return result.to(counts.dtype());
}

// Points [n, axes] that fall between the edges of each axis; the last bin has its right edge.
Tensor counted(const Tensor& x, const std::vector<Tensor>& edges, const Counting& how) {
  const Shape bins = bins_of(edges, how);
  const std::int64_t points = x.size(0);
  require(!how.weight.defined() || how.weight.count() == points, "[", how.name, "] the weight is [",
          how.weight.defined() ? how.weight.shape() : Shape{}, "], of ", points, " points (at ",
          At{how.where}, "); one for each is wanted");
  const Tensor weights =
      how.weight.defined() ? how.weight.reshape({points}) : ones({points}, x.dtype());
  Tensor place = zeros({points}, DType::i64), is_inside = ones({points}, DType::boolean);
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
  const Tensor counts = sums.reshape(bins);
  return how.density ? densities(counts, sum(sums), edges) : counts;
}

// [n, axes].
Tensor flat_points(const TensorOperand& operand, const char* name) {
  const Tensor& x = graph::tensor_of(operand, name);
  require(x.rank() >= 2 && is_floating(x.dtype()), "[", name, "] the points are ", x.dtype(), " [",
          x.shape(), "] (at ", At{operand.where}, "); floats [.., axes] are wanted");
  return x.reshape({x.count() / std::max<std::int64_t>(1, x.size(-1)), x.size(-1)});
}

std::vector<Tensor> edges_of(const Tensor& x, const Shape& bins,
                             const HistogramOfAxesOptions& options, source_location w) {
  require(bins.rank() == x.size(1), "[histogramdd] the bins are [", bins, "] (at ", At{w}, "); ",
          x.size(1), ", one an axis, are wanted");
  require(options.ranges.empty() || std::ssize(options.ranges) == x.size(1), "[histogramdd] ",
          options.ranges.size(), " ranges (at ", At{w}, "); ", x.size(1), ", one an axis, are ",
          "wanted");
  std::vector<Tensor> edges;
  for (int axis = 0; axis < bins.rank(); ++axis) {
    HistogramOptions of_axis;
    if (!options.ranges.empty()) of_axis.range = options.ranges[static_cast<std::size_t>(axis)];
    edges.push_back(histogram({x.select(1, axis).contiguous(), w}, bins[axis], of_axis).second);
  }
  return edges;
}

}  // namespace

Tensor histogram(const TensorOperand& x, const Tensor& edges, const Tensor& weight, bool density) {
  const Tensor& given = graph::tensor_of(x, "histogram");
  require(is_floating(given.dtype()), "[histogram] the tensor is ", given.dtype(), " (at ",
          At{x.where}, "); it must be floating: convert with to(f32)");
  return counted(given.reshape({given.count(), 1}), {edges},
                 {"histogram", weight, density, x.where});
}

HistogramOfAxes histogramdd(const TensorOperand& points, const std::vector<Tensor>& edges,
                            const HistogramOfAxesOptions& options) {
  const Tensor x = flat_points(points, "histogramdd");
  require(std::ssize(edges) == x.size(1), "[histogramdd] edges of ", edges.size(), " axes (at ",
          At{points.where}, "); the points have ", x.size(1));
  return {counted(x, edges, {"histogramdd", options.weight, options.density, points.where}), edges};
}
HistogramOfAxes histogramdd(const TensorOperand& points, const Shape& bins,
                            const HistogramOfAxesOptions& options) {
  return histogramdd(points, histogramdd_bin_edges(points, bins, options), options);
}
std::vector<Tensor> histogramdd_bin_edges(const TensorOperand& points, const Shape& bins,
                                          const HistogramOfAxesOptions& options) {
  return edges_of(flat_points(points, "histogramdd"), bins, options, points.where);
}

}  // namespace tilewright
