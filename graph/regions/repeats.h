// Finding the layers of a network that nobody marked: the longest stretch of the task list in which
// every task has a twin one period later.
//
// Fusion alone would join the end of one small layer with the beginning of the next, and so on,
// into one program as long as the network. Knowing the period it stops at the seams, and all layers
// become one program.
#pragma once

#include "graph/regions/task.h"

namespace tilewright::graph {

struct Repeats {
  TaskId begin = 0, end = 0;  // the stretch; empty: nothing repeats
  TaskId period = 0;
  // Which repetition a task belongs to, or -1.
  int turn(TaskId task) const {
    return task < begin || task >= end ? -1 : static_cast<int>((task - begin) / period);
  }
  // Whether the tasks are as many as one whole repetition.
  bool is_whole_turn(std::size_t tasks) const { return period != 0 && tasks >= period; }
};

Repeats find_repeats(const TaskList& list);

}  // namespace tilewright::graph
