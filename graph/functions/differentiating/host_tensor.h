// Tensors as values of the interpreter, by which derivatives and results are looked into: apart
// from both, since the interpreter knows no tensors.
#pragma once

#include <vector>

#include "graph/ir/evaluate.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The elements of concrete tensors, wherever they lie.
std::vector<HostTensor> host_tensors_of(const std::vector<Tensor>& tensors);

}  // namespace tilewright::graph
