// The passes over graphs that differ in sizes alone: the results of a few foretell the others
// (graph/sizes/foretold.h).
#pragma once

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// As run_passes; sets `is_foretold` where no pass has run.
Graph run_passes_for_sizes(const Graph& captured, const dsl::Target& target, bool& is_foretold);

}  // namespace tilewright::graph
