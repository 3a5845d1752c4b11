// The epilogue of an opaque task: pointwise tasks that its programs apply to each block of what it
// computes, before memory is written.
//
// Of most opaque tasks nothing is known but their op, and each is a region by itself. Some compute
// independent blocks of a value, as a convolution does, in registers. What only follows such a
// value element by element, in its shape (an addition of what a residual branch kept, a norm of a
// batch with known statistics, an activation), costs nothing beside it where it is done there, and
// a pass over memory where it is not.
#pragma once

#include <span>

#include "graph/regions/task.h"

namespace tilewright::graph {

// Whether the lowering of the task's op applies an epilogue.
bool takes_epilogue(const Task& task);

// Whether tasks (ascending) are such a one and its epilogue: each of the others is pointwise, has
// the shape of the first, reads values of the region as they are, at least one, and anything else
// from memory that the region does not write.
bool is_with_epilogue(const TaskList& list, std::span<const TaskId> tasks);

}  // namespace tilewright::graph
