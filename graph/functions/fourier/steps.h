// The ways in which a transform is computed; which one is, fourier.cpp decides.
#pragma once

#include <vector>

#include "graph/functions/fourier/terms.h"

namespace tilewright::transforms {

struct Transform {
  std::int64_t points;
  double sign;  // of the exponent
  double scale;
  std::int64_t wanted;       // the first results
  bool is_real = false;      // of which the real parts
  bool is_mirrored = false;  // elements beyond the given ones are conjugates of these: twice the
                             // real part of a result is a sum over half of them
  double weight(std::int64_t element) const {
    return is_mirrored && element != 0 && 2 * element != points ? 2 : 1;
  }
};

// All take x [outer, given, inner], whose other elements up to the transform's points are 0, and
// give [outer, wanted, inner].
ComplexParts by_matrix(const ComplexParts& x, const Transform& transform);
// `factors` multiply to the points.
ComplexParts by_factors(const ComplexParts& x, const Transform& transform,
                        const std::vector<std::int64_t>& factors);
ComplexParts by_convolution(const ComplexParts& x, const Transform& transform);

// Decides among them.
ComplexParts transformed(const ComplexParts& x, const Transform& transform);

}  // namespace tilewright::transforms
