#include "graph/regions/text/storage_users.h"

namespace tilewright::graph {

std::vector<StorageUsers> storage_users(const TaskList& list) {
  std::vector<StorageUsers> users(list.storages.size());
  auto add = [](std::vector<TaskId>& to, TaskId id) {
    if (to.empty() || to.back() != id) to.push_back(id);
  };
  for (TaskId id = 0; id < list.tasks.size(); ++id) {
    const Task& task = list.tasks[id];
    for (const TaskOperand& operand : task.operands)
      if (!operand.number && operand.storage < users.size())
        add(users[operand.storage].readers, id);
    if (task.storage < users.size()) add(users[task.storage].writers, id);
    for (const TaskResult& other : task.others)
      if (other.storage < users.size()) add(users[other.storage].writers, id);
  }
  return users;
}

}  // namespace tilewright::graph
