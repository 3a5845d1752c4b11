// Packed copies of frozen weights, made once and shared by all functions that read them.
//
// A copy lives as long as a function that has it. The memory it was made from is frozen
// (Buffer::forbid_writes): writing it through a tensor is an Error from then on. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// A copy of the matrix in a concrete tensor of the host, the input of a plan that `weight` names,
// in panels.
std::shared_ptr<Buffer> packed_copy(const Tensor& tensor, const PackedWeight& weight);
// True if some function has a packed copy of this memory.
bool has_packed_copy(const Buffer& weight);
// All that the plan reads, in its order, of the tensors that its inputs are.
std::vector<std::shared_ptr<Buffer>> packed_copies(
    const Plan& plan, const std::function<const Tensor&(std::size_t input)>& tensor_of);

}  // namespace tilewright::graph
