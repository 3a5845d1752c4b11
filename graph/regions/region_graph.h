// A graph of tasks whose nodes are joined into regions, and the question whether two regions may be
// joined: only if no path leads from one to the other through a third, which would have to run
// between the halves of the new region.
//
// The regions are kept in a topological order, as in Pearce and Kelly's algorithm, so that a search
// looks only at the regions between the two: neighbours in a long model are found to be joinable
// without a walk to its end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

using RegionId = std::uint32_t;  // the id of one of its tasks

class RegionGraph {
 public:
  explicit RegionGraph(const TaskList& list);
  RegionId region_of(TaskId task) const { return region_of_[task]; }
  const std::vector<TaskId>& tasks(RegionId region) const { return regions_[region].tasks; }
  // True if no path leads between two regions through a third.
  bool may_join(RegionId a, RegionId b);
  // Joins b to a: `tasks` are those of both, ascending. Directly after may_join(a, b) said yes.
  void join(RegionId a, RegionId b, std::vector<TaskId> tasks);
  // All regions in an order in which they can run, as near to that of their first tasks as can be.
  // Those that only change memory that exists anyway, as an optimizer's update of a large parameter
  // does, run as soon as they can: the values that they read take memory until then.
  std::vector<RegionId> order() const;

 private:
  bool is_update(RegionId id) const;

  struct JoinedTasks {
    std::vector<TaskId> tasks, after;  // `after`: tasks that follow one of `tasks`
    std::uint32_t rank;
    std::size_t befores;  // how many tasks its tasks follow
  };

  std::reference_wrapper<const TaskList> list_;
  std::vector<JoinedTasks> regions_;
  std::vector<RegionId> region_of_, by_rank_;
  std::vector<std::uint32_t> marks_;  // of the last search: the regions that it found
  std::uint32_t mark_ = 0;
  bool is_forward_ = true;  // the direction of the last search: from the end with fewer neighbours
};

}  // namespace tilewright::graph
