// The lowering of the op convolution: of f32, over one or two axes, on hosts over three. Other
// convolutions are products in the graph (is_one_op in graph/functions/convolving/convolution.cpp).
// Which programs follow from the device and from how many channels a filter sees; nothing is tuned.
// On a host, ConvolutionFilters chooses Winograd's transform too.
// Long filters of one channel that see few windows, as transforms of short pieces of sound do, are
// products as well: their vectors go along the outputs.
#include "graph/lower/convolution/convolution_filters.h"
#include "graph/lower/convolution/convolution_programs.h"
#include "graph/lower/lowering.h"

namespace tilewright::graph {
namespace {

constexpr std::size_t in_place_axes = 2, host_axes = 3;  // at least
constexpr std::int64_t long_filter = 32;                 // places

bool is_for_host(const Task& task, const dsl::Target& target) {
  return !target.is_gpu() && task.dtype == DType::f32;
}

bool has_long_filters_of_few_windows(const Task& task, const dsl::Target& target) {
  const ConvolutionShape shape(task, host_axes);
  return shape.places() >= long_filter && vectors_go_along_outputs(shape, target);
}

bool is_convolution(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::convolution;
}

LoweredRegion lower_convolution(const TaskList& list, const Region& region,
                                const dsl::Target& target, const BlockSizes&) {
  const Task& task = list.tasks[region.tasks[0]];
  if (!is_for_host(task, target)) return convolve_in_place({list, region, target, in_place_axes});
  const ConvolutionSite site(list, region, target, host_axes);
  return is_convolved_by_products(task, target) ? convolve_by_products(site)
                                                : convolve_by_channel(site);
}

void describe_convolution(const TaskList& list, const Region& region, autotune::Record& problem) {
  const ConvolutionShape shape(list.tasks[region.tasks[0]], 1);
  problem.set("images", std::to_string(shape.images));
  problem.set("groups", std::to_string(shape.groups));
  problem.set("channels", std::to_string(shape.channels));
  problem.set("outputs", std::to_string(shape.outputs));
  problem.set("places", std::to_string(shape.places()));
  problem.set("windows", std::to_string(shape.windows()));
}

}  // namespace

bool is_convolved_by_products(const Task& task, const dsl::Target& target) {
  return task.op == Op::convolution && is_for_host(task, target) &&
         (task.operands[1].view.shape[1] > 1 || has_long_filters_of_few_windows(task, target));
}

constinit const Lowering lowerings::convolution = {.name = "convolution",
                                                   .matches = is_convolution,
                                                   .lower = lower_convolution,
                                                   .describe = describe_convolution,
                                                   .use_packed = use_packed_filters};

}  // namespace tilewright::graph
