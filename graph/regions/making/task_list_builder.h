// A task list while it is made: its storages, and its tasks with those that they must come after.
//
// Apart from the making of tasks (make_tasks.cpp), which knows the graph: here are tasks and memory
// alone. Tasks are added in the order of their numbers, and each comes after the writers of what it
// reads and after all that touched what it overwrites.
#pragma once

#include "graph/regions/storage.h"
#include "graph/regions/task.h"

namespace tilewright::graph {

class TaskListBuilder {
 protected:
  // Raises `Error` where 63 bits cannot count its bytes.
  StorageId new_storage(DType dtype, std::int64_t elements);
  StorageId add_storage(Storage storage);

  static Task new_task(TaskKind kind, NodeId id, DType dtype, const Shape& shape);
  // A task whose result is the operand in a place of its own.
  static Task copy_of(NodeId id, const TaskOperand& operand, DType dtype);
  // The node's reduction of the operand over the axes [begin, end), to this dtype.
  static Task reduction_task(NodeId id, const Node& n, const TaskOperand& value, int begin, int end,
                             DType dtype);
  // A long sum that gives few results is made of partial sums, for which there are programs enough
  // to occupy all threads. Returns what is left to reduce, over the axes [begin, end).
  TaskOperand cut_long_run(NodeId id, const Node& n, TaskOperand value, int begin, int& end);
  // The number of the task that is added next.
  TaskId next_task() const { return static_cast<TaskId>(list_.tasks.size()); }
  // Adds the task; its value gets a storage of its own.
  TaskOperand add(Task task);
  // Adds the task, which writes into a storage that may have other writers. Those from
  // `first_part` on are parts of the same whole, which touch other elements.
  void add_into(Task task, TaskId first_part);

  TaskList list_;
};

}  // namespace tilewright::graph
