// Operators whose elements join others at places that are themselves tensors: scatters that
// reduce, histograms, bags of an embedding.
#include "graph/functions/indexing/scatters.h"

#include <algorithm>

#include "graph/functions/indexing/embedding_bag.h"
#include "graph/functions/indexing/histograms.h"
#include "graph/functions/pooling/segments.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace scatter_rows {
namespace {

ScatterReduction reduction_of(const Call& call) {
  const std::string name = call.text("reduce", "sum");
  for (const auto& [given, reduction] : {std::pair{"sum", ScatterReduction::sum},
                                         {"add", ScatterReduction::sum},
                                         {"prod", ScatterReduction::prod},
                                         {"multiply", ScatterReduction::prod},
                                         {"mean", ScatterReduction::mean},
                                         {"amax", ScatterReduction::amax},
                                         {"amin", ScatterReduction::amin}})
    if (name == given) return reduction;
  call.refuse("reduce", "must be sum, prod, mean, amax or amin");
}

Tensor scatter_reduced(const Call& call) {
  return scatter_reduce(call.tensor("self"), call.axis("dim"), call.tensor("index"),
                        call.tensor("src"), reduction_of(call), call.flag("include_self", true));
}
Tensor slices_reduced(const Call& call) {
  return index_reduce(call.tensor("self"), call.axis("dim"), call.tensor("index"),
                      call.tensor("source"), reduction_of(call), call.flag("include_self", true));
}
// Segments by their lengths, or by where each begins and the last one ends.
Tensor segments_reduced(const Call& call) {
  const std::string name = call.text("reduce", "sum");
  const ScatterReduction reduction = name == "max"   ? ScatterReduction::amax
                                     : name == "min" ? ScatterReduction::amin
                                                     : reduction_of(call);
  call.flag("unsafe", false);
  Tensor lengths = call.optional_tensor("lengths");
  if (call.has("offsets")) {
    Tensor offsets = call.tensor("offsets");
    lengths = offsets.slice(-1, 1, offsets.size(-1)) - offsets.slice(-1, 0, offsets.size(-1) - 1);
  }
  if (!lengths.defined()) call.refuse("lengths", "are missing, and so are offsets");
  if (call.axis("axis", 0) != lengths.rank() - 1)
    call.refuse("axis", concat("is ", call.axis("axis"), ", not the last of the lengths [",
                               lengths.shape(), "]"));
  std::optional<double> initial;
  if (call.has("initial")) initial = call.number("initial");
  return segment_reduce(call.tensor("data"), lengths, reduction, initial);
}
Tensor slices_added(const Call& call) {
  return index_add(call.tensor("self"), call.axis("dim"), call.tensor("index"),
                   call.tensor("source"), call.scalar("alpha", 1));
}
Tensor put_by_number(const Call& call) {
  return put(call.tensor("self"), call.tensor("index"), call.tensor("source"),
             call.flag("accumulate", false));
}

std::pair<Tensor, Tensor> histogram_of(const Call& call) {
  HistogramOptions options;
  if (call.has("range")) {
    std::vector<double> range = call.numbers("range");
    require(range.size() == 2, "[exported] the range of a histogram has ", range.size(),
            " numbers; it must have 2");
    options.range = {range[0], range[1]};
  }
  options.weight = call.optional_tensor("weight");
  options.density = call.flag("density", false);
  return histogram(call.tensor("self"), call.integer("bins"), options);
}

// The first result alone: the others are what a gradient wants.
Results bags(const Call& call) {
  for (std::size_t result = 1; result < call.node().results.size(); ++result)
    if (call.wants(result))
      raise_error("[exported] what an embedding_bag gives besides its bags is not supported");
  call.flag("scale_grad_by_freq", false);
  call.flag("sparse", false);
  BagOptions options;
  const std::int64_t mode = call.integer("mode", 0);
  if (mode < 0 || mode > 2) call.refuse("mode", "must be 0, 1 or 2");
  options.mode = static_cast<BagMode>(mode);
  options.weights = call.optional_tensor("per_sample_weights");
  options.has_last_offset = call.flag("include_last_offset", false);
  std::int64_t row = call.integer("padding_idx", -1);
  const bool counts_from_end = call.node().target == "aten.embedding_bag.padding_idx";
  if (row < 0 && counts_from_end && call.has("padding_idx")) row += call.tensor("weight").size(0);
  if (row >= 0) options.ignored_row = row;
  Results results(std::max<std::size_t>(call.node().results.size(), 1));
  results[0] =
      embedding_bag(call.tensor("indices"), call.tensor("weight"), call.tensor("offsets"), options);
  return results;
}

constexpr Operator rows[] = {
    {"aten.scatter_add.default",
     [](const Call& c) {
       return scatter_add(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.tensor("src"));
     }},
    {"aten.scatter_reduce.two", by<scatter_reduced>},
    {"aten.scatter.reduce",
     [](const Call& c) {
       return scatter(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.tensor("src"),
                      reduction_of(c));
     }},
    {"aten.scatter.value_reduce",
     [](const Call& c) {
       return scatter(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.operand("value"),
                      reduction_of(c));
     }},
    {"aten.index_add.default", by<slices_added>},
    {"aten.index_reduce.default", by<slices_reduced>},
    {"aten.segment_reduce.default", by<segments_reduced>},
    {"aten.put.default", by<put_by_number>},
    {"aten.bincount.default",
     [](const Call& c) {
       return bincount(c.tensor("self"), c.optional_tensor("weights"), c.integer("minlength", 0));
     }},
    {"aten.histc.default",
     [](const Call& c) {
       return histc(c.tensor("self"), c.integer("bins", 100), c.number("min", 0),
                    c.number("max", 0));
     }},
    {"aten.histogram.bin_ct", by<histogram_of>},
    {"aten._embedding_bag_forward_only.default", by<bags>},
    {"aten._embedding_bag.default", by<bags>},
    {"aten.embedding_bag.default", by<bags>},
    {"aten.embedding_bag.padding_idx", by<bags>},
};

}  // namespace
}  // namespace scatter_rows

std::span<const Operator> scatter_operators() { return scatter_rows::rows; }

}  // namespace tilewright::exported
