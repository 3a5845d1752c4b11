// Histograms of exported programs: of one axis between edges that are given, and of several axes.
#include "graph/functions/indexing/histograms.h"

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace histogram_rows {
namespace {

HistogramOfAxesOptions options_of(const Call& call, std::size_t axes) {
  HistogramOfAxesOptions options{.weight = call.optional_tensor("weight"),
                                 .density = call.flag("density", false)};
  if (!call.has("range")) return options;
  const std::vector<double> range = call.numbers("range");
  if (range.size() != 2 * axes)
    call.refuse("range", concat("has ", range.size(), " numbers; ", 2 * axes, " are wanted"));
  for (std::size_t axis = 0; axis < axes; ++axis)
    options.ranges.emplace_back(range[2 * axis], range[2 * axis + 1]);
  return options;
}
std::size_t axes_of(const Tensor& points) {
  return points.rank() == 0 ? 0 : static_cast<std::size_t>(points.size(-1));
}
Shape bins_of(const Call& call, const Tensor& points) {
  if (call.node().target == "aten.histogramdd.int_bins")
    return Shape(axes_of(points), call.integer("bins"));
  return call.integers("bins");
}

HistogramOfAxes by_bins(const Call& call) {
  const Tensor points = call.tensor("self");
  return histogramdd(points, bins_of(call, points), options_of(call, axes_of(points)));
}
HistogramOfAxes by_edges(const Call& call) {
  call.has("range");
  return histogramdd(
      call.tensor("self"), call.tensors("bins"),
      {.weight = call.optional_tensor("weight"), .density = call.flag("density", false)});
}
using Found = HistogramOfAxes (*)(const Call& call);
template <Found found>
constexpr auto counts_and_edges = [](const Call& c) {
  const HistogramOfAxes all = found(c);
  Results results = {all.counts};
  results.insert(results.end(), all.edges.begin(), all.edges.end());
  return results;
};
std::vector<Tensor> edges_alone(const Call& call) {
  const Tensor points = call.tensor("self");
  return histogramdd_bin_edges(points, bins_of(call, points), options_of(call, axes_of(points)));
}
Results between_edges(const Call& call) {
  const Tensor edges = call.tensor("bins");
  return {histogram(call.tensor("self"), edges, call.optional_tensor("weight"),
                    call.flag("density", false)),
          edges};
}

constexpr Operator rows[] = {
    {"aten.histogram.bins_tensor", by<between_edges>},
    {"aten._histogramdd_bin_edges.default", by<edges_alone>},
    {"aten._histogramdd_from_bin_cts.default", [](const Call& c) { return by_bins(c).counts; }},
    {"aten._histogramdd_from_bin_tensors.default",
     [](const Call& c) { return by_edges(c).counts; }},
    {"aten.histogramdd.default", counts_and_edges<by_bins>},
    {"aten.histogramdd.int_bins", counts_and_edges<by_bins>},
    {"aten.histogramdd.TensorList_bins", counts_and_edges<by_edges>},
};

}  // namespace
}  // namespace histogram_rows

std::span<const Operator> histogram_operators() { return histogram_rows::rows; }

}  // namespace tilewright::exported
