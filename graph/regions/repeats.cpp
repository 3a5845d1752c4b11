#include "graph/regions/repeats.h"

#include <algorithm>
#include <functional>

#include "graph/regions/task_identity.h"

namespace tilewright::graph {
namespace {

constexpr TaskId least_repetitions = 4;
constexpr std::size_t longest_period = 1024;
constexpr std::size_t most_comparisons = 4'000'000;
constexpr TaskId far = 64;  // what lies further back is not part of a layer's structure

// Equal for tasks that do the same with operands as many tasks ago.
std::uint64_t signature(const TaskList& list, TaskId id) {
  const Task& task = list.tasks[id];
  Hasher hasher;
  add_structure(hasher, task);
  for (const TaskOperand& operand : task.operands) {
    const auto& [number, storage, view, producer] = operand;
    add_number(hasher, number);
    hasher.add(view.shape);
    if (number) continue;
    hasher.add(view.strides).add(view.offset);
    bool near = producer && id - *producer < far;
    hasher.add(near ? id - *producer : 0);
  }
  return hasher.finish().low;
}

// True if it may be the main work of a layer.
bool is_heavy(const Task& task) { return task.kind == TaskKind::contraction || task.is_opaque(); }

// All stretches of some period that cannot be made longer, not cut to whole repetitions.
std::vector<Stretch> longest_runs(const std::vector<std::uint64_t>& signatures) {
  std::vector<Stretch> runs;
  std::size_t count = signatures.size();
  std::size_t periods = std::min({longest_period, count / least_repetitions,
                                  most_comparisons / std::max<std::size_t>(count, 1)});
  for (std::size_t period = 2; period <= periods; ++period) {
    for (std::size_t i = 0; i + period < count;) {
      std::size_t end = i;
      while (end + period < count && signatures[end] == signatures[end + period]) ++end;
      if (end > i && end - i + period >= least_repetitions * period)
        runs.push_back({static_cast<TaskId>(i), static_cast<TaskId>(end + period),
                        static_cast<TaskId>(period)});
      i = end + 1;
    }
  }
  return runs;
}

// The parts of a run that are in none of the stretches, which are in order.
std::vector<Stretch> beside(const Stretch& run, const std::vector<Stretch>& stretches) {
  std::vector<Stretch> left;
  TaskId begin = run.begin;
  for (const Stretch& taken : stretches) {
    if (taken.end <= begin || taken.begin >= run.end) continue;
    if (taken.begin > begin) left.push_back({begin, taken.begin, run.period});
    begin = std::max(begin, taken.end);
  }
  if (begin < run.end) left.push_back({begin, run.end, run.period});
  return left;
}

}  // namespace

int Repeats::turn(TaskId task) const {
  TaskId before = 0;
  for (const Stretch& stretch : stretches) {
    if (task < stretch.begin) break;
    if (task < stretch.end)
      return static_cast<int>(before + (task - stretch.begin) / stretch.period);
    before += stretch.turns();
  }
  return -1;
}

TaskId Repeats::period(TaskId task) const {
  for (const Stretch& stretch : stretches)
    if (task < stretch.end) return stretch.period;
  return stretches.back().period;
}

Repeats find_repeats(const TaskList& list) {
  std::vector<std::uint64_t> signatures;
  for (TaskId id = 0; id < list.tasks.size(); ++id) signatures.push_back(signature(list, id));
  std::vector<Stretch> runs = longest_runs(signatures);
  // Runs of one length are in the order of their periods: a multiple of a period comes after it.
  std::ranges::stable_sort(runs, std::greater{},
                           [](const Stretch& run) { return run.end - run.begin; });
  Repeats result;
  for (const Stretch& run : runs) {
    for (Stretch& part : beside(run, result.stretches)) {
      part.end -= (part.end - part.begin) % part.period;
      // A row of equal small steps is not a row of layers.
      auto first = list.tasks.begin() + part.begin;
      if (part.turns() < least_repetitions || std::none_of(first, first + part.period, is_heavy))
        continue;
      auto place = std::ranges::upper_bound(result.stretches, part.begin, {}, &Stretch::begin);
      result.stretches.insert(place, part);
    }
  }
  return result;
}

}  // namespace tilewright::graph
