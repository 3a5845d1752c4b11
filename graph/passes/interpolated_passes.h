// The passes over graphs that differ in sizes alone: the results of a few interpolate the others
// (graph/sizes/interpolated.h).
#pragma once

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// As run_passes; sets `is_interpolated` where no pass has run.
Graph run_passes_for_sizes(const Graph& captured, const dsl::Target& target, bool& is_interpolated);

}  // namespace tilewright::graph
