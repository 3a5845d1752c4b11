// Finds the unmarked layers of a network: stretches of the task list in which every task has a twin
// one period later.
//
// Fusion alone would join the end of one small layer with the beginning of the next, and so on,
// into one program as long as the network. Knowing the period it stops at the seams, and all layers
// become one program. A list may have several stretches, each with a period of its own: layers of
// two kinds, an encoder and a decoder, a forward and a backward pass.
#pragma once

#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

struct Stretch {
  TaskId begin = 0, end = 0;  // whole repetitions
  TaskId period = 0;
  TaskId turns() const { return (end - begin) / period; }
};

struct Repeats {
  std::vector<Stretch> stretches;  // disjoint, in the order of the list; empty: nothing repeats
  // Which repetition a task belongs to, counted through all stretches, or -1.
  int turn(TaskId task) const;
  // The period of the stretch that a task is in; outside of any, of the next stretch, or else of
  // the last one.
  TaskId period(TaskId task) const;
};

// The longest stretch first, with its least period, and then the rest beside it.
Repeats find_repeats(const TaskList& list);

}  // namespace tilewright::graph
