#include "graph/regions/epilogue.h"

#include <algorithm>

namespace tilewright::graph {
namespace {

bool is_whole(const StridedView& view, const Shape& shape) {
  return view.offset == 0 && view.shape == shape && is_row_major(view.shape, view.strides);
}

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

}  // namespace tilewright::graph
