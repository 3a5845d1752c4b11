// The cotangents of the slices of one value: each is zeros but for its slice, so that those of
// slices that do not overlap are one joined value, where their sum would be as many passes over all
// of it.
#pragma once

#include <vector>

#include "graph/ops/family.h"

namespace tilewright::graph {

// The cotangents of a value in order, those of slices of one axis that do not overlap as one, in
// the place of the first of them.
std::vector<Term> joined_slices(const std::vector<Term>& cotangents);

}  // namespace tilewright::graph
