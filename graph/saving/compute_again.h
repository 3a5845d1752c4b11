// Puts into practice which values of a function are kept for its gradients: the others are computed
// a second time where the derivative first reads them.
#pragma once

#include "graph/ir/ir.h"
#include "graph/saving/least_cut.h"

namespace tilewright::graph {

// The graph in which the derivative reads second copies of those values that the choice computes
// again (Purpose::again). Operations are the same, of the same operands, so that values are the
// same bits. Fusion does not join the copies to the function, and they run as late as they can.
Graph computed_again(const Graph& graph, const SavingProblem& problem, const SavingChoice& choice);

}  // namespace tilewright::graph
