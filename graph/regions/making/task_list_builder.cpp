#include "graph/regions/making/task_list_builder.h"

#include <algorithm>

namespace tilewright::graph {

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

void TaskListBuilder::add_into(Task task, TaskId first_part) {
  TaskId id = next_task();
  for (const TaskOperand& operand : task.operands) {
    if (operand.number) continue;
    Storage& storage = list_.storages[operand.storage];
    task.after.insert(task.after.end(), storage.writers.begin(), storage.writers.end());
    if (storage.readers.empty() || storage.readers.back() != id) storage.readers.push_back(id);
  }
  Storage& target = list_.storages[task.storage];
  for (const auto& users : {target.writers, target.readers})
    for (TaskId user : users)
      if (user < first_part) task.after.push_back(user);
  target.writers.push_back(id);
  for (const TaskResult& other : task.others) list_.storages[other.storage].writers.push_back(id);
  std::ranges::sort(task.after);
  task.after.erase(std::ranges::unique(task.after).begin(), task.after.end());
  std::erase(task.after, id);
  list_.tasks.push_back(std::move(task));
}

}  // namespace tilewright::graph
