// Tensors that the host has made, as constants: they lie on the host and go to where the operands
// of an operation lie. Tables of weights and numbers of elements that follow from sizes are such.
#pragma once

#include <vector>

#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

inline Tensor as_constant(Tensor tensor) {
  tensor.body()->is_constant = true;
  return tensor;
}
template <typename T>
Tensor constant_of(const std::vector<T>& elements, const Shape& shape) {
  return as_constant(Tensor::from(elements, shape));
}

}  // namespace tilewright::graph
