// Candidates for layouts of shared memory without bank conflicts, made for a writer and a reader.
//
// It is apart from banks.h because it is geometry of subspaces alone: banks.h decides how good a
// candidate is.
#pragma once

#include <vector>

#include "dsl/layout/layout.h"

namespace tilewright::dsl::layout {

// Orders of elements in memory (SharedLayout::linear), one for each way of choosing which registers
// share an access: common ones of both sides first, then more of one side's. The last, where no two
// do, has no conflicts. Neither layout has duplicate registers; elements have 1 to 16 bytes.
std::vector<BitMatrix> conflict_free_orders(const Layout& writer, const Layout& reader,
                                            int element_bytes);

}  // namespace tilewright::dsl::layout
