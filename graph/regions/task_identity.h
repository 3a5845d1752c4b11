// The work of a task, as a hash: the part of region keys and of repetitions that both must see
// whole.
//
// Tasks are taken apart by structured bindings, which name every field: a new field of Task does
// not compile until this file decides whether it is part of the work.
#pragma once

#include "graph/regions/task.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

// The work without its operands, without the memory that it writes, and without the numbers of an
// opaque op: shared by tasks that are twins in the layers of a network, of which every second one
// may have a window.
void add_structure(Hasher& hasher, const Task& task);
// All of the work, but for its operands and the memory that it writes.
void add_work(Hasher& hasher, const Task& task);
// A number that is an operand, or a mark that the operand is not a number.
void add_number(Hasher& hasher, const std::optional<ir::Scalar>& number);

}  // namespace tilewright::graph
