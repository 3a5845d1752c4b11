// Shared by gather and scatter: an index along one axis, whose elements stand at their own places
// in the others.
#pragma once

#include <source_location>
#include <string_view>

#include "graph/functions/indexing/numbered.h"

namespace tilewright::graph {

// The index, which must have as many axes as x (one without axes counts as having one), and no more
// elements than x along those that are not `axis`; one of no elements may have any rank and dtype.
// Those that are known must be inside the axis. Where it `counts_from_end`, negative ones count
// from there, here and below.
Tensor index_along(const Tensor& x, int axis, const Tensor& index, bool counts_from_end,
                   std::string_view operation, std::source_location w);
// i32 or i64, of the index's sizes or [1]: the numbers of the elements of x that it names, -1 for
// none.
Tensor numbers_along(const Tensor& x, int axis, const Tensor& index, bool counts_from_end,
                     std::source_location w);

}  // namespace tilewright::graph
