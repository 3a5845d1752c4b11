// Norms of matrices, real or complex, for the operators that name norms of vectors too.
#pragma once

#include "models/exported/aten/operators.h"

namespace tilewright::exported {

// By the number "ord" of the matrices that "self" is along the axes "dim", or along the last two.
Tensor norm_of_matrices(const Call& call);

}  // namespace tilewright::exported
