#include "graph/functions/pointwise/chebyshev.h"

namespace tilewright::graph {

Formula chebyshev(const Formula& y, std::span<const double> coefficients) {
  Formula twice = y * 2, last = y.number(coefficients.back()), before = y.number(0);
  for (std::size_t i = coefficients.size() - 1; i-- > 1;) {
    Formula next = twice * last - before + coefficients[i];
    before = last;
    last = next;
  }
  return y * last - before + coefficients[0];
}

}  // namespace tilewright::graph
