// The writers and readers of each storage, derived from the tasks: a text leaves them out, and
// printing and parsing use this.
#pragma once

#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

// In the order of the list, each task once.
struct StorageUsers {
  std::vector<TaskId> writers, readers;
};
// The users of every storage. Ids that the list has no storage for are passed over.
std::vector<StorageUsers> storage_users(const TaskList& list);

}  // namespace tilewright::graph
