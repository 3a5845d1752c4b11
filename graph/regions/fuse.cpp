#include "graph/regions/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

#include "graph/regions/region_graph.h"
#include "graph/regions/repeats.h"
#include "graph/regions/task_identity.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::size_t most_tasks = 96;        // in a region
constexpr TaskId far_apart = 24;              // about an operation and its derivative
constexpr std::int64_t little = 16;           // less than one of so many bytes
constexpr std::int64_t many_bytes = 1 << 16;  // a launch takes less time than to go through them

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
  Fuser(const TaskList& list, const RegionLimits& limits, std::span<const MarkId> marks,
        std::span<const Purpose> purposes)
      : list_(list),
        marks_(marks),
        purposes_(purposes),
        builder_(list, limits),
        repeats_(find_repeats(list)),
        regions_(list),
        bytes_saved_(list.tasks.size(), 0),
        built_(list.tasks.size()),
        follows_(list.tasks.size(), false) {}

  void merge_all() {
    // First within the repetitions; then also over the seams, but a whole repetition stays alone.
    find_units();
    merge_pairs();
    if (!merge_followers()) merge_pairs();
    if (repeats_.stretches.empty()) return;
    over_seams_ = true;
    merge_pairs();
  }

  std::vector<FusedRegion> result() {
    std::vector<FusedRegion> regions;
    for (RegionId id : regions_.order()) {
      std::optional<Region> region = std::move(built_[id]);
      if (!region) region = builder_.build(regions_.tasks(id));
      check(region.has_value(), "a single task, and merged tasks, must be a region");
      regions.push_back(
          {std::move(*region), bytes_saved_[id], has(regions_.tasks(id), Purpose::again)});
    }
    return regions;
  }

 private:
  // A pair that failed may become possible when a third region has joined one of them.
  void merge_pairs() {
    for (int round = 0; round < 3 && merge_edges() + merge_siblings() > 0; ++round) {
    }
  }

  // The tasks of each mark, and of each repetition of what repeats, between which nothing is merged
  // at first. Among units with equal tasks, all but the first follow: they wait for its regions.
  void find_units() {
    std::map<std::pair<MarkId, int>, std::vector<TaskId>> units;
    for (TaskId id = 0; id < list_.tasks.size(); ++id) {
      const MarkId mark = this->mark(id);
      const int turn = mark != 0 ? 0 : repeats_.turn(id);
      if (turn >= 0) units[{mark, turn}].push_back(id);
    }
    std::unordered_map<std::uint64_t, std::vector<TaskId>> leaders;
    for (auto& [id, tasks] : units) {
      auto [leader, is_new] = leaders.try_emplace(structure(tasks), tasks);
      if (is_new) continue;
      for (TaskId task : tasks) follows_[task] = true;
      followers_.emplace_back(leader->second, std::move(tasks));
    }
  }
  // Equal for units whose tasks do the same with values from the same places of the unit.
  std::uint64_t structure(const std::vector<TaskId>& tasks) const {
    Hasher hasher;
    for (TaskId id : tasks) {
      add_work(hasher, list_.tasks[id]);
      for (const auto& [number, storage, view, producer] : list_.tasks[id].operands) {
        add_number(hasher, number);
        hasher.add(view.shape).add(view.strides).add(view.offset);
        auto place = producer ? std::ranges::lower_bound(tasks, *producer) : tasks.end();
        const bool is_inside = place != tasks.end() && *place == *producer;
        hasher.add(is_inside ? place - tasks.begin() + 1 : 0);
      }
    }
    return hasher.finish().low;
  }

  // Merges the tasks of followers as those of their leaders are. False: for some that was not
  // possible, so that nothing was merged and they follow no more.
  bool merge_followers() {
    if (followers_.empty()) return true;
    const RegionGraph before = regions_;
    const bool all_follow = std::ranges::all_of(
        followers_, [&](const auto& units) { return merge_like(units.first, units.second); });
    for (const auto& [leader, tasks] : followers_)
      for (TaskId task : tasks) {
        follows_[task] = false;
        if (all_follow) continue;
        built_[task].reset();
        bytes_saved_[task] = 0;
      }
    if (!all_follow) regions_ = before;
    return all_follow;
  }
  bool merge_like(const std::vector<TaskId>& leader, const std::vector<TaskId>& tasks) {
    std::map<RegionId, std::vector<TaskId>> groups;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      groups[regions_.region_of(leader[i])].push_back(tasks[i]);
    return std::ranges::all_of(groups, [&](const auto& group) {
      return group.second.size() == 1 || merge_group(group.first, group.second);
    });
  }
  // In ascending order: then each step is convex if the whole is.
  bool merge_group(RegionId leader, const std::vector<TaskId>& group) {
    std::optional<Region> region = builder_.build(group);
    if (!region) return false;
    const RegionId first = group[0];
    std::vector<TaskId> joined = {first};
    for (std::size_t i = 1; i < group.size(); ++i) {
      joined.push_back(group[i]);
      if (!regions_.may_join(first, group[i])) return false;
      regions_.join(first, group[i], joined);
    }
    built_[first] = std::move(region);
    bytes_saved_[first] = bytes_saved_[leader];
    return true;
  }

  int merge_edges() {
    std::priority_queue<Candidate> queue;
    for (TaskId id = 0; id < list_.tasks.size(); ++id)
      for (const TaskOperand& operand : list_.tasks[id].operands)
        if (operand.producer && !follows_[id] && !follows_[*operand.producer] &&
            regions_.region_of(*operand.producer) != regions_.region_of(id))
          queue.push({saved_by_edge(*operand.producer), *operand.producer, id});
    return drain(queue);
  }

  int merge_siblings() {
    std::priority_queue<Candidate> queue;
    for (const Storage& storage : list_.storages) {
      TaskId last = 0;
      bool any = false;
      for (TaskId reader : storage.readers) {
        if (any && !follows_[last] && !follows_[reader] &&
            regions_.region_of(last) != regions_.region_of(reader))
          queue.push({saved_by_sharing(last, reader, storage), last, reader});
        last = reader;
        any = true;
      }
    }
    return drain(queue, true);
  }

  int drain(std::priority_queue<Candidate>& queue, bool siblings = false) {
    int merged = 0;
    for (; !queue.empty(); queue.pop()) {
      const Candidate& best = queue.top();
      RegionId a = regions_.region_of(best.first), b = regions_.region_of(best.second);
      if (a == b || best.score <= 0) continue;
      if (siblings && stay_apart(a, b, best.score)) continue;
      if (live_long(a, b, best.score)) continue;
      if (try_merge(a, b, best.score, siblings)) ++merged;
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
          bytes = std::max(bytes, operand.elements_read() * size_bytes(storage.dtype));
      return bytes;
    };
    return std::min(bytes_read(a), bytes_read(b));
  }

  // Pointwise steps that share next to nothing, as an optimizer's for two parameters share a rate:
  // those of one kind can be one launch of one program as they are (graph/run/batches.h), and those
  // of different sizes would be a program that is cut by neither, so that what is small and free
  // would cost the large one its parallelism. So do rows that are reduced: a program of two keeps a
  // row of each at once, which is dearer than a launch where there is much of both.
  bool stay_apart(RegionId a, RegionId b, std::int64_t saved) const {
    const std::vector<TaskId>&x = regions_.tasks(a), &y = regions_.tasks(b);
    const auto [less, more] = std::minmax({most_bytes(x), most_bytes(y)});
    if (!is_pointwise(x) || !is_pointwise(y)) return saved * little < less && less >= many_bytes;
    return saved * little < more && (less != more || are_alike(x, y));
  }
  // Parts of the derivative that stand far apart, as those of two layers that read one mask: the
  // values of the later one would live from the earlier one on, and take what is saved or more.
  bool live_long(RegionId a, RegionId b, std::int64_t saved) const {
    const std::vector<TaskId>&x = regions_.tasks(a), &y = regions_.tasks(b);
    if (purposes_.empty() || has(x, Purpose::function) || has(y, Purpose::function)) return false;
    const std::vector<TaskId>&early = x[0] < y[0] ? x : y, &late = x[0] < y[0] ? y : x;
    if (late[0] < early.back() + far_apart) return false;
    std::vector<TaskId> both(early);
    both.insert(both.end(), late.begin(), late.end());
    return bytes_read_elsewhere(early, both) > 0 && bytes_read_elsewhere(late, late) >= saved;
  }
  // The bytes of values of `tasks` that tasks read which are not in `known`, in ascending order.
  std::int64_t bytes_read_elsewhere(const std::vector<TaskId>& tasks,
                                    const std::vector<TaskId>& known) const {
    std::int64_t bytes = 0;
    for (TaskId id : tasks) {
      const std::vector<TaskId>& readers = list_.storages[list_.tasks[id].storage].readers;
      if (!std::ranges::all_of(
              readers, [&](TaskId reader) { return std::ranges::binary_search(known, reader); }))
        bytes += list_.tasks[id].bytes();
    }
    return bytes;
  }
  // The same as `stay_apart` for a number that others read too, as the parameters of an optimizer
  // do the square root of a correction: it must be stored, so that a region with it cannot be cut
  // into blocks of columns, and a single program would go through all of the tensor.
  bool costs_parallelism(const Region& region, const std::vector<TaskId>& x,
                         const std::vector<TaskId>& y, std::int64_t saved) const {
    if (region.splits_columns || !is_pointwise(x) || !is_pointwise(y)) return false;
    const std::int64_t most = std::max(most_bytes(x), most_bytes(y));
    return saved * little < most && most / std::max<std::int64_t>(region.rows, 1) >= many_bytes;
  }
  bool is_pointwise(const std::vector<TaskId>& tasks) const {
    return std::ranges::all_of(
        tasks, [&](TaskId id) { return list_.tasks[id].kind == TaskKind::pointwise; });
  }
  std::int64_t most_bytes(const std::vector<TaskId>& tasks) const {
    std::int64_t most = 0;
    for (TaskId id : tasks) most = std::max(most, list_.tasks[id].bytes());
    return most;
  }
  bool are_alike(const std::vector<TaskId>& x, const std::vector<TaskId>& y) const {
    return std::ranges::equal(x, y, [&](TaskId a, TaskId b) {
      const Task &s = list_.tasks[a], &t = list_.tasks[b];
      return s.tile_op == t.tile_op && s.dtype == t.dtype;
    });
  }

  MarkId mark(TaskId task) const { return marks_.empty() ? 0 : marks_[task]; }
  bool has(const std::vector<TaskId>& tasks, Purpose purpose) const {
    return !purposes_.empty() &&
           std::ranges::any_of(tasks, [&](TaskId id) { return purposes_[id] == purpose; });
  }
  // In a region with the function, a second copy of a value would be made early, and kept.
  bool purposes_allow(const std::vector<TaskId>& a, const std::vector<TaskId>& b) const {
    if (purposes_.empty()) return true;
    return !(has(a, Purpose::again) && has(b, Purpose::function)) &&
           !(has(b, Purpose::again) && has(a, Purpose::function)) && !multiplies_copy(a, b) &&
           !multiplies_copy(b, a);
  }
  // A product that computes an operand may add up in another order than one that reads it, as it
  // reads the value that this is a second copy of.
  bool multiplies_copy(const std::vector<TaskId>& tasks, const std::vector<TaskId>& copies) const {
    const auto is_copy = [&](const TaskOperand& operand) {
      return operand.producer && purposes_[*operand.producer] == Purpose::again &&
             std::ranges::binary_search(copies, *operand.producer);
    };
    return std::ranges::any_of(tasks, [&](TaskId id) {
      return list_.tasks[id].kind == TaskKind::contraction &&
             std::ranges::any_of(list_.tasks[id].operands, is_copy);
    });
  }
  // Within a mark there are no seams: where its author began and ended it is the period.
  bool seams_allow(const std::vector<TaskId>& a, const std::vector<TaskId>& b) const {
    if (mark(a[0]) != mark(b[0]) || !purposes_allow(a, b)) return false;
    if (repeats_.stretches.empty() || mark(a[0]) != 0) return true;
    if (!over_seams_) return repeats_.turn(a[0]) == repeats_.turn(b[0]);
    return a.size() + b.size() <= std::min(least_period(a), least_period(b));
  }
  // The least period of the stretches that the tasks are in: so many tasks may be a whole
  // repetition.
  TaskId least_period(const std::vector<TaskId>& tasks) const {
    TaskId least = repeats_.period(tasks[0]);
    for (TaskId id : tasks) least = std::min(least, repeats_.period(id));
    return least;
  }

  // True if a task of `x` and one outside read the same value in the same rows. Siblings that do
  // not would be joined because their numbers of rows happen to be equal.
  bool share_rows(const Region& region, const std::vector<TaskId>& x) const {
    std::vector<std::pair<StorageId, IndexMap>> reads[2];  // of the others, of `x`
    for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
      const Task& task = list_.tasks[region.tasks[slot]];
      const bool is_of_x = std::ranges::binary_search(x, region.tasks[slot]);
      for (std::size_t i = 0; i < task.operands.size(); ++i) {
        const TaskOperand& operand = task.operands[i];
        if (operand.number) continue;
        const std::optional<Table> seen = operand_table(task, i, region.tables[slot]);
        auto access = seen ? compose(operand.view, seen->place) : std::nullopt;
        if (access) reads[is_of_x ? 1 : 0].emplace_back(operand.storage, access->rows);
      }
    }
    return std::ranges::any_of(reads[0], [&](const auto& read) {
      return std::ranges::find(reads[1], read) != reads[1].end();
    });
  }

  bool try_merge(RegionId a, RegionId b, std::int64_t saved, bool siblings) {
    const std::vector<TaskId>&x = regions_.tasks(a), &y = regions_.tasks(b);
    if (x.size() + y.size() > most_tasks || !seams_allow(x, y) || !regions_.may_join(a, b))
      return false;
    std::vector<TaskId> tasks(x.size() + y.size());
    std::ranges::merge(x, y, tasks.begin());
    std::optional<Region> region = builder_.build(tasks);
    if (!region || costs_parallelism(*region, x, y, saved)) return false;
    if (siblings && (region->tables.empty() || !share_rows(*region, x))) return false;
    regions_.join(a, b, std::move(tasks));
    built_[a] = std::move(region);
    built_[b].reset();
    bytes_saved_[a] += bytes_saved_[b] + saved;
    return true;
  }

  const TaskList& list_;
  std::span<const MarkId> marks_;      // by task
  std::span<const Purpose> purposes_;  // by task; empty: no derivatives
  RegionBuilder builder_;
  Repeats repeats_;
  RegionGraph regions_;
  std::vector<std::int64_t> bytes_saved_;     // by region
  std::vector<std::optional<Region>> built_;  // of regions that were merged
  std::vector<bool> follows_;                 // tasks of units that wait for another one
  std::vector<std::pair<std::vector<TaskId>, std::vector<TaskId>>> followers_;  // leader, follower
  bool over_seams_ = false;
};

}  // namespace

std::vector<FusedRegion> fuse_tasks(const TaskList& list, bool fuse, const RegionLimits& limits,
                                    std::span<const MarkId> marks,
                                    std::span<const Purpose> purposes) {
  Fuser fuser(list, limits, marks, purposes);
  if (fuse) fuser.merge_all();
  return fuser.result();
}

}  // namespace tilewright::graph
