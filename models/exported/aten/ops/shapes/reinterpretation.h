// The bits of a tensor's elements, seen as another type.
//
// Apart from the operators that arrange elements, because values of complex numbers are seen anew
// by it too (complex/operators.cpp).
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright::exported {

// A new tensor of these bits. Where the types differ in size the last axis becomes longer or
// shorter, the first of several elements being the lowest bits of a wide one. Raises `Error` where
// there is no such axis, or where it is no multiple of what a wide element takes.
Tensor reinterpreted(const Tensor& x, DType dtype);

}  // namespace tilewright::exported
