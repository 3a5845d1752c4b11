// The numbers of tasks and of their regions (graph/sizes/numbers.h): all that sizes decide of them,
// as long as fusion makes the same regions.
#pragma once

#include "graph/regions/fuse.h"
#include "graph/sizes/numbers.h"

namespace tilewright::graph {

void visit(NumberReader& visitor, const FusedTasks& tasks);
void visit(NumberWriter& visitor, FusedTasks& tasks);

}  // namespace tilewright::graph
