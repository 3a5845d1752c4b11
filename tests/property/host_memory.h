// Host tensors as the memory of tensors: what a compiled graph reads and writes.
#pragma once

#include <cstddef>

#include "graph/ir/evaluate.h"

namespace tilewright::graph {

// The bytes of a tensor with the given dense strides (empty: row-major).
std::vector<std::byte> to_memory(const HostTensor& tensor, const Strides& strides = {});
HostTensor from_memory(DType dtype, const Shape& shape, const void* memory,
                       const Strides& strides = {});

}  // namespace tilewright::graph
