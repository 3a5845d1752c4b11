// Copying the elements of one concrete tensor to another of the same dtype and shape, wherever the
// two lie and however they are laid out.
//
// On the host elements are copied one by one (strided_copy.h); on one GPU by a kernel, or as one
// block of bytes where both are row-major; from one memory to another as bytes, by way of row-major
// copies on either side where they are needed. Between two GPUs bytes go by way of the host where
// the driver knows no other.
#pragma once

#include <optional>
#include <source_location>
#include <string_view>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The two must not overlap unless they are the same.
void copy_elements(const Tensor& to, const Tensor& from);

// A new row-major tensor on `device`.
Tensor copy_to(const Tensor& from, const Device& device);

// The same on the device where a concrete tensor lies.
Tensor copy_row_major(const Tensor& concrete);

// A copy of a concrete tensor on the host. Raises `Error`, which begins with the operation, where a
// later step has overwritten it.
Tensor host_copy(const Tensor& from, std::string_view operation,
                 std::optional<std::source_location> where);

// True if both are views of one memory, or of one value of a capture, whatever their elements.
bool are_of_one_memory(const Tensor& a, const Tensor& b);

}  // namespace tilewright::graph
