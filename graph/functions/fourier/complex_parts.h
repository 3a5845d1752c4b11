// A complex tensor as two real ones.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// Of one shape and dtype; as an operand without an imaginary part it is real.
struct ComplexParts {
  Tensor real, imaginary;
};

}  // namespace tilewright
