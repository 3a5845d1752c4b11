// The tasks that join an opaque task in its region.
//
// For most opaque tasks nothing is known but their op, and each is a region by itself. Two kinds of
// programs have a place for more:
//
//   epilogue   A convolution computes independent blocks of a value, in registers. What only
//              follows such a value element by element, in its shape (an addition of what a
//              residual branch kept, a norm of a batch with known statistics, an activation),
//              costs nothing beside it where it is done there, and a pass over memory where it is
//              not.
//   prologue   An accumulation goes through its source once, a run of neighbours at a time. What
//              the source is computed from by pointwise tasks and gathers, as rows of a table that
//              bags add up, or those of a graph's nodes, times weights, it may read itself, so
//              that the source is never in memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

// True if the lowering of the task's op applies an epilogue.
bool takes_epilogue(const Task& task);

// True if the first of the tasks (ascending) takes an epilogue and the others are one: each of the
// others is pointwise, has the shape of the first, reads values of the region as they are, at least
// one, and anything else from memory that the region does not write.
bool is_with_epilogue(const TaskList& list, std::span<const TaskId> tasks);

// A piece of memory that the source of an accumulation is made of: an operand of a task of the
// region, and how far apart what neighbours of the source along each of its axes take from it lies.
// For a gather's table it is the distance within a row, to which that of the row's number is added.
struct SourceRead {
  std::size_t slot = 0, operand = 0;
  std::vector<std::int64_t> strides;
};

// For tasks (ascending) of which the last is an accumulation, and the others compute its source:
// all that they read. Nothing where they are not such a prologue: each of the others is pointwise
// or a gather, its value is for the region alone, and its elements and those of its operands go
// with the source's axes at one stride each; none reads memory that the accumulation changes; and
// the source has runs of neighbours that join rows of one number. An accumulation alone reads its
// source.
std::optional<std::vector<SourceRead>> source_reads(const TaskList& list,
                                                    std::span<const TaskId> tasks);

}  // namespace tilewright::graph
