// Running a graph as it was captured, op by op, like the function that it was captured from would
// run uncompiled: where there is no plan for it and none is to be made.
#pragma once

#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// `inputs` are Graph::inputs, concrete; those that the graph mutates are written. The outputs, each
// with memory of its own. Raises `Error` where an operation does.
std::vector<Tensor> run_one_by_one(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace tilewright::graph
