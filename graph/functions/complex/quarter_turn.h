// Functions that are another one of the plane turned by a right angle, as sin z = -i sinh(i z).
#pragma once

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright::graph {

inline ComplexTensor times_i(const ComplexTensor& z) { return {-z.imag(), z.real()}; }
// -i f(i z).
template <typename F>
ComplexTensor by_quarter_turn(const ComplexTensor& z, const F& function) {
  const ComplexTensor y = function(times_i(z));
  return {y.imag(), -y.real()};
}

}  // namespace tilewright::graph
