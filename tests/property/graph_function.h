// A graph as a function on tensors, so that it goes through compile() as what a user wrote does.
#pragma once

#include <vector>

#include "graph/ir/evaluate.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The graph's results on its inputs; those that it writes are written.
std::vector<Tensor> call_graph(const Graph& graph, const std::vector<Tensor>& inputs);

// A tensor of memory of its own with these strides (empty: row-major), and what is in one.
Tensor to_tensor(const HostTensor& values, const Strides& strides);
HostTensor to_host_tensor(const Tensor& tensor);

}  // namespace tilewright::graph
