// The configurations that a region's programs may have on a target, as a space to search.
//
// A point stands for BlockSizes (graph/lower/blocks/block_request.h), and the knobs are rows of
// their table; a knob that a region or target has no use for is left out. The rule that governs
// all: the lowering uses the sizes of the point. Values that it would clip are other points
// already.
#pragma once

#include "autotune/search/strategy.h"
#include "graph/lower/lowering.h"

namespace tilewright::graph {

struct RegionSpace {
  autotune::Space space;
  autotune::Point preferred;  // the lowering's own choice
  // The sizes of a legal point.
  BlockSizes blocks_of(const autotune::Point& point) const;
};

// The list, region and target must outlive the space, whose rules look at them.
RegionSpace region_space(const TaskList& list, const Region& region, const dsl::Target& target);

}  // namespace tilewright::graph
