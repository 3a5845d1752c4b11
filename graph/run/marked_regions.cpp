#include "graph/run/marked_regions.h"

#include <algorithm>
#include <set>

namespace tilewright::graph {

MarkId mark_of(const Graph& graph, const TaskList& list, const FusedRegion& region) {
  return graph.node(list.tasks[region.region.tasks.front()].node).origin.mark;
}

std::vector<MarkedRegion> marked_regions(const Graph& graph, const TaskList& list,
                                         std::span<const FusedRegion> regions,
                                         std::span<const Hash> keys) {
  std::vector<std::vector<std::string>> programs(graph.marks.size());  // of each mark, in order
  if (programs.empty()) return {};
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (MarkId mark = mark_of(graph, list, regions[i])) programs[mark - 1].push_back(keys[i].hex());
  struct Calls {
    MarkedRegion region;
    std::set<std::vector<std::string>> structures;
    std::set<std::string> programs;
  };
  std::vector<Calls> calls;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (programs[i].empty()) continue;
    auto of_name = [&](const Calls& c) { return c.region.name == graph.marks[i]; };
    auto found = std::ranges::find_if(calls, of_name);
    if (found == calls.end()) found = calls.insert(found, {{.name = graph.marks[i]}, {}, {}});
    ++found->region.instances;
    found->programs.insert(programs[i].begin(), programs[i].end());
    found->structures.insert(std::move(programs[i]));
  }
  std::vector<MarkedRegion> result;
  for (Calls& each : calls) {
    each.region.structures = std::ssize(each.structures);
    each.region.programs = std::ssize(each.programs);
    result.push_back(std::move(each.region));
  }
  return result;
}

}  // namespace tilewright::graph
