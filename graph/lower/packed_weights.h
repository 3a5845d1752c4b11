// Weights that lie as the host's products multiply them.
//
// A product of many rows packs its right operand before it multiplies
// (dsl/target/packed_product.h): a tenth of the time where there are a hundred rows, and again at
// each call. A weight that is not written any more, a frozen input, can be packed once: products
// then read the copy in place. The copy takes as much memory as the weight, which stays, since
// products of a few rows stream it in its own order.
//
// That a product does so must not depend on the sizes of its blocks, which are chosen later and may
// be searched for: it depends on its rows and the weight alone. compile/plans/weight_copies.h makes
// the copies.
#pragma once

#include <vector>

#include "graph/regions/fuse.h"

namespace tilewright::graph {

// True if an operand is a matrix in memory that is not written any more.
bool may_be_packed(const TaskList& list, const TaskOperand& weight);
// Has the operand read a packed copy of its input, of which `packed` says the panels, the matrix
// and the elements. One that the list has already is used again. The operand's view is the
// caller's to change.
void read_packed(TaskList& list, TaskOperand& weight, Storage packed);

// Has the products and convolutions of these regions read packed copies of frozen inputs, one for
// each matrix in memory. Nothing changes for a GPU.
void use_packed_weights(TaskList& list, const std::vector<FusedRegion>& regions,
                        const dsl::Target& target);

}  // namespace tilewright::graph
