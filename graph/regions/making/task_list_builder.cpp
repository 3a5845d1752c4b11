#include "graph/regions/making/task_list_builder.h"

#include <algorithm>

#include "graph/ops/reductions.h"
#include "graph/regions/access.h"

namespace tilewright::graph {
namespace {

// Sums of this many elements to this few results are cut into parts.
constexpr std::int64_t long_run = 1 << 16, few_results = 16, most_parts = 256, least_parts = 8;

}  // namespace

StorageId TaskListBuilder::new_storage(DType dtype, std::int64_t elements) {
  Storage storage;
  storage.dtype = dtype;
  storage.elements = elements;
  countable_bytes(storage);  // or it is an Error
  return add_storage(std::move(storage));
}
StorageId TaskListBuilder::add_storage(Storage storage) {
  list_.storages.push_back(std::move(storage));
  return static_cast<StorageId>(list_.storages.size() - 1);
}

Task TaskListBuilder::new_task(TaskKind kind, NodeId id, DType dtype, const Shape& shape) {
  Task task;
  task.kind = kind;
  task.node = id;
  task.dtype = dtype;
  task.shape = shape;
  return task;
}
Task TaskListBuilder::copy_of(NodeId id, const TaskOperand& operand, DType dtype) {
  Task task = new_task(TaskKind::pointwise, id, dtype, operand.view.shape);
  task.operands = {operand};
  return task;
}

TaskOperand TaskListBuilder::add(Task task) {
  task.storage = new_storage(task.dtype, task.count());
  task.place = row_major(task.shape);
  TaskOperand value{std::nullopt, task.storage, task.place, next_task()};
  add_into(std::move(task), next_task());
  return value;
}

Task TaskListBuilder::reduction_task(NodeId id, const Node& n, const TaskOperand& value, int begin,
                                     int end, DType dtype) {
  Shape shape = value.view.shape;
  for (int axis = begin; axis < end; ++axis) shape[axis] = 1;
  Task task = new_task(TaskKind::reduction, id, dtype, shape);
  task.reduce = kind_of_reduction(n.op);
  task.axis_begin = begin;
  task.axis_end = end;
  task.operands = {value};
  return task;
}

TaskOperand TaskListBuilder::cut_long_run(NodeId id, const Node& n, TaskOperand value, int begin,
                                          int& end) {
  std::int64_t length = 1, parts = 0;
  for (int axis = begin; axis < end; ++axis) length *= value.view.shape[axis];
  if (element_count(value.view.shape) / length < few_results && length >= long_run)
    for (parts = most_parts; parts > 1 && length % parts != 0;) --parts;
  if (parts < least_parts) return value;
  IndexMap run = index_map(value.view, begin, end);
  StridedView& view = value.view;
  std::int64_t stride = run.is_constant() ? 0 : run.modes()[0].stride;
  view.shape.erase(view.shape.begin() + begin, view.shape.begin() + end);
  view.strides.erase(view.strides.begin() + begin, view.strides.begin() + end);
  view.shape.insert(view.shape.begin() + begin, {parts, length / parts});
  view.strides.insert(view.strides.begin() + begin, {stride * (length / parts), stride});
  end = begin + 1;
  return add(reduction_task(id, n, value, begin + 1, begin + 2, accumulator(n.dtype)));
}

void TaskListBuilder::add_into(Task task, TaskId first_part) {
  TaskId id = next_task();
  for (const TaskOperand& operand : task.operands) {
    if (operand.number) continue;
    Storage& storage = list_.storages[operand.storage];
    task.after.insert(task.after.end(), storage.writers.begin(), storage.writers.end());
    if (storage.readers.empty() || storage.readers.back() != id) storage.readers.push_back(id);
  }
  auto write = [&](Storage& target) {
    for (const auto& users : {target.writers, target.readers})
      for (TaskId user : users)
        if (user < first_part) task.after.push_back(user);
    target.writers.push_back(id);
  };
  write(list_.storages[task.storage]);
  for (const TaskResult& other : task.others) write(list_.storages[other.storage]);
  std::ranges::sort(task.after);
  task.after.erase(std::ranges::unique(task.after).begin(), task.after.end());
  std::erase(task.after, id);
  list_.tasks.push_back(std::move(task));
}

}  // namespace tilewright::graph
