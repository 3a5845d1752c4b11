#include "graph/regions/repeats.h"

#include <algorithm>

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

// Whether it may be what a layer is about.
bool is_heavy(const Task& task) { return task.kind == TaskKind::contraction || task.is_opaque(); }

}  // namespace

Repeats find_repeats(const TaskList& list) {
  std::size_t count = list.tasks.size();
  std::vector<std::uint64_t> signatures(count);
  for (TaskId id = 0; id < count; ++id) signatures[id] = signature(list, id);
  Repeats best;
  std::size_t periods = std::min({longest_period, count / least_repetitions,
                                  most_comparisons / std::max<std::size_t>(count, 1)});
  for (std::size_t period = 2; period <= periods; ++period) {
    for (std::size_t i = 0; i + period < count;) {
      std::size_t run = i;
      while (run + period < count && signatures[run] == signatures[run + period]) ++run;
      std::size_t length = run - i + period;  // of the stretch from i
      if (run > i && length >= least_repetitions * period && length > best.end - best.begin) {
        best.begin = static_cast<TaskId>(i);
        best.period = static_cast<TaskId>(period);
        best.end = static_cast<TaskId>(i + length - length % period);
      }
      i = run + 1;
    }
  }
  // A row of equal small steps is not a row of layers.
  if (best.period != 0 && std::none_of(list.tasks.begin() + best.begin,
                                       list.tasks.begin() + best.begin + best.period, is_heavy))
    return {};
  return best;
}

}  // namespace tilewright::graph
