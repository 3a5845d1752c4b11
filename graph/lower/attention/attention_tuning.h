// The answers for attention to the questions of tuning (graph/lower/lowering.h).
#pragma once

#include <vector>

#include "graph/lower/lowering.h"

namespace tilewright::graph {

BlockChoice choice_of_attention(const TaskList& list, const Region& region,
                                const dsl::Target& target);
RegionWork work_of_attention(const TaskList& list, const Region& region, const dsl::Target& target);
void describe_attention(const TaskList& list, const Region& region, autotune::Record& problem);
// An attention to a cache is timed at several positions in it in turn. A text begins at the first
// one, and few reach the end of the cache: a choice that is best for many keys may be bad for few.
// None is a round number, at which every block of keys would be full.
std::vector<WorkElement> position_of_attention(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
