// Functions of a complex number that have one slope in all directions. Where derivatives are taken,
// they are recorded with the rule of this name (graph/functions/derivatives/complex_slopes.cpp).
#pragma once

#include "graph/functions/complex/complex_tensor.h"
#include "graph/ops/derivatives/gradient_graph.h"
#include "graph/tensor/ruled_functions.h"

namespace tilewright::graph {

using ComplexFunction = ComplexTensor (*)(const ComplexTensor& z);
inline ComplexTensor with_one_slope(std::string_view name, const ComplexTensor& z,
                                    ComplexFunction function,
                                    std::source_location w = std::source_location::current()) {
  if (!CapturesForDerivatives::is_active()) return function(z);
  const std::vector<Tensor> parts = {z.real(), z.imag()};
  const std::vector<Tensor> results = with_rule(
      name, parts, {},
      [&](std::span<const Tensor> t) -> std::vector<Tensor> {
        const ComplexTensor y = function({t[0], t[1]});
        return {y.real(), y.imag()};
      },
      w);
  return {results[0], results[1]};
}

}  // namespace tilewright::graph
