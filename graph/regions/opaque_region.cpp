#include "graph/regions/opaque_region.h"

#include <algorithm>

#include "graph/regions/access.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t least_run = 8;  // elements

bool is_whole(const StridedView& view, const Shape& shape) {
  return view.offset == 0 && view.shape == shape && is_row_major(view.shape, view.strides);
}

// Follows the source of an accumulation to the memory that it is made of.
class SourceReader {
 public:
  using Steps = std::vector<std::int64_t>;  // along each axis of the source

  SourceReader(const TaskList& list, std::span<const TaskId> tasks)
      : list_(list), tasks_(tasks), steps_(tasks.size()) {}

  std::optional<std::vector<SourceRead>> run() {
    const TaskOperand& source = accumulation().operands[2];
    const std::size_t last = tasks_.size() - 1;
    if (tasks_.size() == 1) {
      if (!source.number) reads_.push_back({last, 2, steps_of(source.view)});
      return reads_;
    }
    if (!has_runs() || slot_of(accumulation().operands[1]) || slot_of(accumulation().operands[0]))
      return std::nullopt;
    for (std::size_t slot = 0; slot < last; ++slot)
      if (!is_for_region_alone(slot)) return std::nullopt;
    const auto first = slot_of(source);
    if (!first || source.view.offset != 0 || !visit(*first, steps_of(source.view)))
      return std::nullopt;
    for (std::size_t slot = 0; slot < last; ++slot)
      if (steps_[slot].empty()) return std::nullopt;
    return reads_;
  }

 private:
  const Task& task(std::size_t slot) const { return list_.tasks[tasks_[slot]]; }
  const Task& accumulation() const { return list_.tasks[tasks_.back()]; }
  const Shape& sizes() const { return accumulation().operands[2].view.shape; }
  std::optional<std::size_t> slot_of(const TaskOperand& operand) const {
    if (!operand.producer) return std::nullopt;
    auto it = std::ranges::lower_bound(tasks_, *operand.producer);
    if (it == tasks_.end() || *it != *operand.producer) return std::nullopt;
    return static_cast<std::size_t>(it - tasks_.begin());
  }
  static Steps steps_of(const StridedView& view) {
    return {view.strides.begin(), view.strides.end()};
  }

  // True if there are vectors of neighbours that join rows of one number: otherwise elements are
  // computed one at a time, which is better done before.
  bool has_runs() const {
    const Task& task = accumulation();
    for (int axis = 0; axis < sizes().rank(); ++axis)
      if (axis != task.attributes.axes[0] && task.place.strides[axis] == 1 &&
          task.operands[1].view.strides[axis] == 0 && sizes()[axis] >= least_run)
        return true;
    return false;
  }
  bool is_for_region_alone(std::size_t slot) const {
    const Task& t = task(slot);
    const Storage& storage = list_.storages[t.storage];
    return (t.kind == TaskKind::pointwise || t.kind == TaskKind::gather) &&
           storage.kind == StorageKind::result && !storage.is_output &&
           storage.writers.size() == 1 && std::ranges::all_of(storage.readers, [&](TaskId reader) {
             return std::ranges::binary_search(tasks_, reader);
           });
  }

  // The steps in the row-major numbering of a shape, as steps in the memory that such a view of it
  // sees; nothing where some axis has no one stride there. Each axis must stay within one axis of
  // the shape, and all together within its size.
  std::optional<Steps> through(const StridedView& view, const Steps& steps) const {
    const IndexMap memory = index_map(view);
    std::vector<std::int64_t> farthest(memory.modes().size(), 0);
    Steps result(steps.size(), 0);
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      const std::int64_t size = sizes()[static_cast<int>(axis)];
      std::int64_t step = size == 1 ? 0 : steps[axis];
      if (step < 0) return std::nullopt;
      for (std::size_t i = 0; i < farthest.size() && step != 0; ++i) {
        const Mode& mode = memory.modes()[i];
        if (step >= mode.size) {
          if (step % mode.size != 0) return std::nullopt;
          step /= mode.size;
          continue;
        }
        farthest[i] += (size - 1) * step;
        if (farthest[i] >= mode.size) return std::nullopt;
        result[axis] = mode.stride * step;
        step = 0;
      }
      if (step != 0) return std::nullopt;
    }
    return result;
  }

  bool visit(std::size_t slot, const Steps& steps) {
    if (!steps_[slot].empty()) return steps_[slot] == steps;
    steps_[slot] = steps;
    const Task& t = task(slot);
    if (t.kind == TaskKind::gather) return visit_gather(slot, steps);
    for (std::size_t i = 0; i < t.operands.size(); ++i)
      if (!visit_operand(slot, i, steps)) return false;
    return true;
  }
  bool visit_operand(std::size_t slot, std::size_t i, const Steps& steps) {
    const TaskOperand& operand = task(slot).operands[i];
    if (operand.number) return true;
    const std::optional<Steps> inner = through(operand.view, steps);
    if (!inner) return false;
    if (auto producer = slot_of(operand))
      return operand.view.offset == 0 && visit(*producer, *inner);
    return add_read(slot, i, *inner);
  }
  // Steps go from row to row, or within one.
  bool visit_gather(std::size_t slot, const Steps& steps) {
    const TaskOperand& table = task(slot).operands[0];
    const std::int64_t width = task(slot).shape[-1];
    Steps rows(steps.size(), 0), columns(steps.size(), 0);
    std::int64_t farthest = 0;
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      if (steps[axis] % width == 0) {
        rows[axis] = steps[axis] / width;
        continue;
      }
      farthest += (sizes()[static_cast<int>(axis)] - 1) * steps[axis];
      if (farthest >= width) return false;
      columns[axis] = steps[axis] * table.view.strides[1];
    }
    return !slot_of(table) && visit_operand(slot, 1, rows) && add_read(slot, 0, columns);
  }
  bool add_read(std::size_t slot, std::size_t i, const Steps& steps) {
    reads_.push_back({slot, i, steps});
    return task(slot).operands[i].storage != accumulation().storage;
  }

  const TaskList& list_;
  std::span<const TaskId> tasks_;
  std::vector<Steps> steps_;  // of each task, in the numbering of its value; empty: not visited
  std::vector<SourceRead> reads_;
};

}  // namespace

bool takes_epilogue(const Task& task) { return task.is_opaque() && task.op == Op::convolution; }

bool is_with_epilogue(const TaskList& list, std::span<const TaskId> tasks) {
  const Task& first = list.tasks[tasks[0]];
  if (!takes_epilogue(first)) return false;
  const std::span<const TaskId> others = tasks.subspan(1);
  auto is_written = [&](StorageId storage) {
    return std::ranges::any_of(tasks, [&](TaskId id) { return list.tasks[id].storage == storage; });
  };
  auto reads_other_memory = [&](const TaskOperand& operand) {
    return operand.number || !is_written(operand.storage);
  };
  auto follows = [&](TaskId id) {
    const Task& task = list.tasks[id];
    if (task.kind != TaskKind::pointwise || task.shape != first.shape) return false;
    bool is_of_value = false;
    for (const TaskOperand& operand : task.operands) {
      const bool is_inside =
          operand.producer && std::ranges::binary_search(tasks, *operand.producer);
      if (is_inside ? !is_whole(operand.view, task.shape) : !reads_other_memory(operand))
        return false;
      is_of_value = is_of_value || is_inside;
    }
    return is_of_value;
  };
  return std::ranges::all_of(first.operands, reads_other_memory) &&
         std::ranges::all_of(others, follows);
}

std::optional<std::vector<SourceRead>> source_reads(const TaskList& list,
                                                    std::span<const TaskId> tasks) {
  if (list.tasks[tasks.back()].op != Op::scatter_reduce) return std::nullopt;
  return SourceReader(list, tasks).run();
}

}  // namespace tilewright::graph
