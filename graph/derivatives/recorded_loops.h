// Functions of the library whose derivative is that of the loop that they record, with the loop in
// the place of the call.
//
// A sweep keeps what a loop's derivative reads by giving the loop further results. A call that
// stays a node beside the loop of its derivative would run the loop a second time.
#pragma once

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// The graph with such calls replaced by what they record, composites whole. Calls that record no
// loop stay, since values that they compute twice are found to be equal.
Graph with_recorded_loops(const Graph& graph, const dsl::Target& target);

}  // namespace tilewright::graph
