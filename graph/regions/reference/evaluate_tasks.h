// Evaluates a task list, task by task on host arrays: its definition, as graph/ir/evaluate.h is
// that of graphs. A wrong result here is a bug of making tasks; one that is right here and wrong in
// a plan is a bug of fusion, lowering or a later step.
//
// Storages are arrays of elements in double or of integers; nothing is shared with lowering but the
// strided views. A task that reads memory which was never written is an `InternalError`, so that a
// missing dependence shows in any order of tasks, whatever was in memory.
#pragma once

#include <span>

#include "graph/ir/evaluate.h"
#include "graph/regions/task.h"

namespace tilewright::graph {

// `list` are the tasks of `graph`, which says what inputs and outputs are; `inputs` are
// row-major, as those of evaluate(graph). `order` names every task once, those of `after` before
// it; empty: as they are.
Evaluation evaluate(const Graph& graph, const TaskList& list, std::span<const HostTensor> inputs,
                    Rounding rounding, std::span<const TaskId> order = {});

}  // namespace tilewright::graph
