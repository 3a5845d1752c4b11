#include "graph/fuse/fuse.h"

#include <algorithm>
#include <queue>

#include "graph/fuse/repeats.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::size_t most_tasks = 96;        // in a region
constexpr std::size_t most_visited = 20'000;  // regions looked at for one question of convexity

using RegionId = std::uint32_t;

struct Candidate {
  std::int64_t score;
  TaskId first, second;
  bool operator<(const Candidate& other) const {
    if (score != other.score) return score < other.score;
    if (first != other.first) return first > other.first;
    return second > other.second;
  }
};

class Fuser {
 public:
  explicit Fuser(const TaskList& list) : list_(list), builder_(list), repeats_(find_repeats(list)) {
    for (TaskId id = 0; id < list.tasks.size(); ++id) {
      groups_.push_back({{id}, {}, {}, 0});
      group_of_.push_back(id);
    }
    for (TaskId id = 0; id < list.tasks.size(); ++id)
      for (TaskId before : list.tasks[id].after) {
        groups_[id].before.push_back(before);
        groups_[before].after.push_back(id);
      }
    marks_.assign(list.tasks.size(), 0);
  }

  void merge_all() {
    // First within the repetitions; then also over the seams, but a whole repetition stays alone.
    for (bool over_seams : {false, true}) {
      over_seams_ = over_seams;
      // A pair that failed may become possible when a third region has joined one of them.
      for (int round = 0; round < 3 && merge_edges() + merge_siblings() > 0; ++round) {
      }
      if (repeats_.period == 0) break;
    }
  }

  std::vector<FusedRegion> result() {
    std::vector<FusedRegion> regions;
    for (RegionId id : order()) {
      const Group& group = groups_[id];
      auto region = builder_.build(group.tasks);
      if (!region) {
        check(group.tasks.size() == 1, "a merged region can no longer be built");
        check(list_.tasks[group.tasks[0]].kind == TaskKind::attention,
              "a task alone must be a region");
        region.emplace();
        region->tasks = group.tasks;
        region->stored = {true};
      }
      regions.push_back({std::move(*region), group.bytes_saved});
    }
    return regions;
  }

 private:
  struct Group {
    std::vector<TaskId> tasks;            // ascending
    std::vector<RegionId> before, after;  // by task; look through `group_of_`
    std::int64_t bytes_saved;
  };

  RegionId group_of(TaskId task) const { return group_of_[task]; }

  int merge_edges() {
    std::priority_queue<Candidate> queue;
    for (TaskId id = 0; id < list_.tasks.size(); ++id)
      for (const TaskOperand& operand : list_.tasks[id].operands)
        if (operand.producer && group_of(*operand.producer) != group_of(id))
          queue.push({saved_by_edge(*operand.producer), *operand.producer, id});
    return drain(queue);
  }

  int merge_siblings() {
    std::priority_queue<Candidate> queue;
    for (const Storage& storage : list_.storages) {
      TaskId last = 0;
      bool any = false;
      for (TaskId reader : storage.readers) {
        if (any && group_of(last) != group_of(reader))
          queue.push({saved_by_sharing(last, reader, storage), last, reader});
        last = reader;
        any = true;
      }
    }
    return drain(queue);
  }

  int drain(std::priority_queue<Candidate>& queue) {
    int merged = 0;
    for (; !queue.empty(); queue.pop()) {
      const Candidate& best = queue.top();
      RegionId a = group_of(best.first), b = group_of(best.second);
      if (a == b || best.score <= 0) continue;
      if (try_merge(a, b, best.score)) ++merged;
    }
    return merged;
  }

  // One read, and the write too if this is the only reader.
  std::int64_t saved_by_edge(TaskId producer) const {
    const Task& task = list_.tasks[producer];
    const Storage& storage = list_.storages[task.storage];
    bool vanishes = storage.readers.size() == 1 && !storage.is_output;
    return task.bytes() * (vanishes ? 2 : 1);
  }
  std::int64_t saved_by_sharing(TaskId a, TaskId b, const Storage& storage) const {
    auto bytes_read = [&](TaskId id) {
      std::int64_t bytes = 0;
      for (const TaskOperand& operand : list_.tasks[id].operands)
        if (!operand.number && &list_.storages[operand.storage] == &storage)
          bytes = std::max(bytes, element_count(operand.view.shape) * size_bytes(storage.dtype));
      return bytes;
    };
    return std::min(bytes_read(a), bytes_read(b));
  }

  bool seams_allow(const Group& a, const Group& b) const {
    if (repeats_.period == 0) return true;
    if (!over_seams_) return repeats_.turn(a.tasks[0]) == repeats_.turn(b.tasks[0]);
    return !repeats_.is_whole_turn(a.tasks.size()) && !repeats_.is_whole_turn(b.tasks.size()) &&
           a.tasks.size() + b.tasks.size() <= repeats_.period;
  }

  bool try_merge(RegionId a, RegionId b, std::int64_t saved) {
    Group &x = groups_[a], &y = groups_[b];
    if (x.tasks.size() + y.tasks.size() > most_tasks || !seams_allow(x, y)) return false;
    if (has_path_around(a, b) || has_path_around(b, a)) return false;
    std::vector<TaskId> tasks(x.tasks.size() + y.tasks.size());
    std::ranges::merge(x.tasks, y.tasks, tasks.begin());
    if (!builder_.build(tasks)) return false;
    for (TaskId task : y.tasks) group_of_[task] = a;
    x.tasks = std::move(tasks);
    x.before.insert(x.before.end(), y.before.begin(), y.before.end());
    x.after.insert(x.after.end(), y.after.begin(), y.after.end());
    x.bytes_saved += y.bytes_saved + saved;
    y = {};
    return true;
  }

  // Whether a path leads from `from` to `to` through a third region.
  bool has_path_around(RegionId from, RegionId to) {
    ++mark_;
    std::vector<RegionId> stack;
    auto push = [&](RegionId id) {
      if (marks_[id] == mark_) return;
      marks_[id] = mark_;
      stack.push_back(id);
    };
    marks_[from] = mark_;
    for (TaskId next : groups_[from].after)
      if (group_of(next) != to) push(group_of(next));
    for (std::size_t visited = 0; !stack.empty(); ++visited) {
      if (visited > most_visited) return true;  // not known: do not merge
      RegionId id = stack.back();
      stack.pop_back();
      for (TaskId next : groups_[id].after) {
        if (group_of(next) == to) return true;
        push(group_of(next));
      }
    }
    return false;
  }

  // Regions by their first task, each as soon as what it waits for has come.
  std::vector<RegionId> order() const {
    std::vector<int> waits(groups_.size(), 0);
    for (TaskId id = 0; id < list_.tasks.size(); ++id)
      for (TaskId before : list_.tasks[id].after)
        if (group_of(before) != group_of(id)) ++waits[group_of(id)];
    std::priority_queue<std::pair<TaskId, RegionId>, std::vector<std::pair<TaskId, RegionId>>,
                        std::greater<>>
        ready;
    auto push = [&](RegionId id) { ready.push({groups_[id].tasks.front(), id}); };
    for (RegionId id = 0; id < groups_.size(); ++id)
      if (!groups_[id].tasks.empty() && waits[id] == 0) push(id);
    std::vector<RegionId> result;
    while (!ready.empty()) {
      RegionId id = ready.top().second;
      ready.pop();
      result.push_back(id);
      for (TaskId next : groups_[id].after)
        if (group_of(next) != id && --waits[group_of(next)] == 0) push(group_of(next));
    }
    auto live = std::ranges::count_if(groups_, [](const Group& g) { return !g.tasks.empty(); });
    check(static_cast<std::ptrdiff_t>(result.size()) == live, "regions wait for each other");
    return result;
  }

  const TaskList& list_;
  RegionBuilder builder_;
  Repeats repeats_;
  std::vector<Group> groups_;
  std::vector<RegionId> group_of_;  // by task
  std::vector<std::uint32_t> marks_;
  std::uint32_t mark_ = 0;
  bool over_seams_ = false;
};

}  // namespace

std::vector<FusedRegion> fuse_tasks(const TaskList& list, bool fuse) {
  Fuser fuser(list);
  if (fuse) fuser.merge_all();
  return fuser.result();
}

}  // namespace tilewright::graph
