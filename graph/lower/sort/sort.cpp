// The lowering of regions that sort. Which way is best follows from the length of rows and from how
// many elements are wanted, and is nothing to tune.
#include "graph/lower/lowering.h"
#include "graph/lower/sort/sort_programs.h"

namespace tilewright::graph {
namespace {

// On a host. Counting compares every two elements, by vectors; a selection must be of a small part.
// Putting a word among the best moves all of them, by vectors.
constexpr std::int64_t most_counted = 128, selected_part = 8, most_inserted = 32;

bool is_sort(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::argsort;
}

LoweredRegion lower_sort(const TaskList& list, const Region& region, const dsl::Target& target,
                         const BlockSizes&) {
  SortSite site(list, region, target);
  if (target.is_gpu()) return merge_sort(site);
  if (site.shape.size <= most_counted) return counting_sort(site);
  if (site.shape.count > site.shape.size / selected_part) return radix_sort(site);
  return site.shape.count <= most_inserted && site.order.words_hold_places()
             ? insertion_select(site)
             : radix_select(site);
}

void describe_sort(const TaskList& list, const Region& region, autotune::Record& problem) {
  SortShape shape(list, list.tasks[region.tasks[0]]);
  problem.set("rows", std::to_string(shape.rows));
  problem.set("elements", std::to_string(shape.size));
  problem.set("wanted", std::to_string(shape.count));
}

}  // namespace

constinit const Lowering lowerings::sort = {
    .name = "sort", .matches = is_sort, .lower = lower_sort, .describe = describe_sort};

}  // namespace tilewright::graph
