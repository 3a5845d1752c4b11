// Terms of pointwise ops that ops of other families are made of.
#pragma once

#include "graph/ops/family.h"

namespace tilewright::graph {

// log(1 + x), exact where x is small.
Term log_of_one_plus(const Term& x);

}  // namespace tilewright::graph
