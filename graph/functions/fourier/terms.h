// The building blocks of transforms: complex terms of a graph, roots of unity, and the transform of
// a few terms that are tensors each, written out as sums.
#pragma once

#include <span>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright::transforms {

using ComplexTerms = std::vector<ComplexParts>;  // an undefined part is 0

struct Root {
  double cosine, sine;
};
// exp(sign 2 pi i k / n), exact where that is.
Root root_of_unity(std::int64_t k, std::int64_t n, double sign);

// A tensor of numbers that the host has made, f32 or f64.
Tensor constant_of(const std::vector<double>& values, const Shape& shape, DType dtype);

ComplexParts times(const ComplexParts& x, const Root& factor);
// The operands' parts may be constants of another shape.
ComplexParts times(const ComplexParts& x, const ComplexParts& factor);

// At each place of the terms, which have one shape, a transform over the terms.
ComplexTerms transform_of_terms(const ComplexTerms& terms, double sign);

}  // namespace tilewright::transforms
