// What the composite ops mean, straight from their definitions, computed in double. Separate from
// evaluate.cpp so that the definitions can be compared with the decompositions side by side.
#pragma once

#include "graph/ir/evaluate.h"

namespace tilewright::graph {

// `node` is of kind composite; the result is not rounded to its dtype.
HostTensor evaluate_composite(const Node& node, const std::vector<const HostTensor*>& operands);

}  // namespace tilewright::graph
