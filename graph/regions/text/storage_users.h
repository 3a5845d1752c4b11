// Who writes and reads each storage, found anew from the tasks: what a text need not say, for who
// prints and who parses it.
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
