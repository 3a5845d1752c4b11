// Chebyshev's series of terms, for functions whose coefficients stand in a table.
#pragma once

#include <span>

#include "graph/functions/pointwise/formula.h"

namespace tilewright::graph {

// c0 + c1 T1(y) + c2 T2(y) + .., by Clenshaw's rule; y from -1 to 1.
Formula chebyshev(const Formula& y, std::span<const double> coefficients);

}  // namespace tilewright::graph
