// Weights that lie as the host's products multiply them.
//
// A product of many rows packs its right operand before it multiplies
// (dsl/target/packed_product.h): a tenth of the time where there are a hundred rows, and again at
// each call. A weight that nobody writes any more, a frozen input, can be packed once: products
// then read the copy where it lies. The copy takes as much memory as the weight, which stays, since
// products of a few rows stream it in its own order.
//
// Whether a product does so must not depend on the sizes of its blocks, which are chosen later and
// may be searched for: it depends on its rows and the weight alone. Who makes the copies is
// compile/plans/weight_copies.h.
#pragma once

#include <vector>

#include "graph/regions/fuse.h"

namespace tilewright::graph {

// Has the products of these regions read packed copies of frozen inputs: each such operand becomes
// a row-major matrix in a storage of kind `packed`, one for each matrix in memory. Nothing changes
// for a GPU.
void use_packed_weights(TaskList& list, const std::vector<FusedRegion>& regions,
                        const dsl::Target& target);

}  // namespace tilewright::graph
