// Writing elements from a file or another tensor into a parameter, wherever it lies.
#pragma once

#include "graph/tensor.h"

namespace tilewright::weights {

// `destination` is row-major; `source` has as many elements, of a type that converts to its own
// (convert.h), and need not be aligned. For a GPU they are converted on the host first.
void fill(Tensor& destination, const void* source, DType type);

}  // namespace tilewright::weights
