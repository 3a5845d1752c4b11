#include "graph/regions/region_graph.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr RegionId nobody = UINT32_MAX;  // a rank that became free
// Values of fewer bytes are not worth an order of their own, which keeps launches from being one.
constexpr std::int64_t much_memory = 1 << 20;

// A value that takes memory from its task to its last reader.
bool is_intermediate(const Storage& storage) {
  return storage.kind == StorageKind::result && !storage.is_output;
}

}  // namespace

RegionGraph::RegionGraph(const TaskList& list) : list_(list), marks_(list.tasks.size(), 0) {
  for (TaskId id = 0; id < list.tasks.size(); ++id) {
    regions_.push_back({{id}, {}, id, list.tasks[id].after.size()});
    region_of_.push_back(id);
    by_rank_.push_back(id);
    for (TaskId before : list.tasks[id].after) regions_[before].after.push_back(id);
  }
}

bool RegionGraph::may_join(RegionId a, RegionId b) {
  auto [first, last] = std::minmax(
      a, b, [&](RegionId x, RegionId y) { return regions_[x].rank < regions_[y].rank; });
  ++mark_;
  is_forward_ = regions_[first].after.size() <= regions_[last].befores;
  const RegionId start = is_forward_ ? first : last, target = is_forward_ ? last : first;
  std::vector<RegionId> stack = {start};
  marks_[start] = mark_;
  // False: there is a path.
  auto visit = [&](RegionId from, TaskId task) {
    const RegionId next = region_of_[task];
    if (next == target) return from == start;
    const bool is_between = is_forward_ ? regions_[next].rank < regions_[target].rank
                                        : regions_[next].rank > regions_[target].rank;
    if (!is_between || marks_[next] == mark_) return true;
    marks_[next] = mark_;
    stack.push_back(next);
    return true;
  };
  while (!stack.empty()) {
    const RegionId from = stack.back();
    stack.pop_back();
    if (is_forward_) {
      for (TaskId task : regions_[from].after)
        if (!visit(from, task)) return false;
      continue;
    }
    for (TaskId task : regions_[from].tasks)
      for (TaskId before : list_.get().tasks[task].after)
        if (!visit(from, before)) return false;
  }
  return true;
}

// Between the two stand regions that the search has marked: those that the first one reaches, which
// now follow both, or those that reach the last one, which now precede both. The others go to the
// other side.
void RegionGraph::join(RegionId a, RegionId b, std::vector<TaskId> tasks) {
  std::uint32_t from = std::min(regions_[a].rank, regions_[b].rank);
  std::uint32_t end = std::max(regions_[a].rank, regions_[b].rank) + 1;
  std::vector<RegionId> later = {a};
  std::uint32_t rank = from;
  auto place = [&](RegionId id) {
    by_rank_[rank] = id;
    if (id != nobody) regions_[id].rank = rank;
    ++rank;
  };
  for (std::uint32_t i = from; i < end; ++i) {
    RegionId id = by_rank_[i];
    if (id == a || id == b || id == nobody) continue;
    if ((marks_[id] == mark_) == is_forward_)
      later.push_back(id);
    else
      place(id);
  }
  for (RegionId id : later) place(id);
  while (rank < end) place(nobody);

  for (TaskId task : regions_[b].tasks) region_of_[task] = a;
  regions_[a].tasks = std::move(tasks);
  regions_[a].after.insert(regions_[a].after.end(), regions_[b].after.begin(),
                           regions_[b].after.end());
  regions_[a].befores += regions_[b].befores;
  regions_[b] = {};
}

bool RegionGraph::is_update(RegionId id) const {
  const TaskList& list = list_.get();
  const auto is_outside = [&](TaskId task) { return region_of_[task] != id; };
  std::int64_t bytes = 0;
  for (TaskId task : regions_[id].tasks) {
    const Task& made = list.tasks[task];
    const Storage& storage = list.storages[made.storage];
    if (!made.others.empty() ||
        (is_intermediate(storage) && std::ranges::any_of(storage.readers, is_outside)))
      return false;
    for (const TaskOperand& operand : made.operands) {
      if (operand.number) continue;
      const Storage& read = list.storages[operand.storage];
      if (is_intermediate(read) && std::ranges::all_of(read.writers, is_outside))
        bytes = std::max(bytes, operand.elements_read() * size_bytes(read.dtype));
    }
  }
  return bytes >= much_memory;
}

std::vector<RegionId> RegionGraph::order() const {
  std::vector<int> waits(regions_.size(), 0);
  for (TaskId id = 0; id < list_.get().tasks.size(); ++id)
    for (TaskId before : list_.get().tasks[id].after)
      if (region_of_[before] != region_of_[id]) ++waits[region_of_[id]];
  using Place = std::tuple<bool, TaskId, RegionId>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  auto push = [&](RegionId id) { ready.push({!is_update(id), regions_[id].tasks.front(), id}); };
  for (RegionId id = 0; id < regions_.size(); ++id)
    if (!regions_[id].tasks.empty() && waits[id] == 0) push(id);
  std::vector<RegionId> result;
  while (!ready.empty()) {
    RegionId id = std::get<2>(ready.top());
    ready.pop();
    result.push_back(id);
    for (TaskId next : regions_[id].after)
      if (region_of_[next] != id && --waits[region_of_[next]] == 0) push(region_of_[next]);
  }
  auto live =
      std::ranges::count_if(regions_, [](const JoinedTasks& r) { return !r.tasks.empty(); });
  check(static_cast<std::ptrdiff_t>(result.size()) == live, "regions wait for each other");
  return result;
}

}  // namespace tilewright::graph
