// The modified Bessel function of order 0 as a term, which i0 and others are made of.
#pragma once

#include "graph/functions/pointwise/formula.h"

namespace tilewright::graph {

// exp(-a) i0(a), of a from 0 on, in a's dtype.
Formula scaled_i0(const Formula& a);

}  // namespace tilewright::graph
