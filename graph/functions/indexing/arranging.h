// The elements of a tensor in another arrangement, by a rule and not by index tensors, under
// PyTorch's names. Results are copies.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Each of the axes backwards; fliplr and flipud are of axis 1 and of axis 0.
Tensor flip(const TensorOperand& x, const std::vector<int>& axes);
Tensor fliplr(const TensorOperand& x);
Tensor flipud(const TensorOperand& x);
// Each element moved by a number of places along an axis, from the end to the front; one shift per
// axis. Without axes there is one shift, along all elements in row-major order.
Tensor roll(const TensorOperand& x, const Sizes& shifts, const Axes& axes = {});
// Keeps the elements of the last two axes on the diagonal of that number or below, or above; 0
// elsewhere. Diagonal k has the places (i, i + k).
Tensor tril(const TensorOperand& x, std::int64_t diagonal = 0);
Tensor triu(const TensorOperand& x, std::int64_t diagonal = 0);
// x [.., n] as a diagonal of that number in squares of n + |offset|, whose rows and columns are the
// axes a and b of the result; 0 elsewhere.
Tensor diag_embed(const TensorOperand& x, std::int64_t offset = 0, int a = -2, int b = -1);
// The matrix with that diagonal for a vector, the diagonal for a matrix.
Tensor diag(const TensorOperand& x, std::int64_t offset = 0);
// x with the value along the diagonal of all its axes, two at least; where it `wraps`, along those
// below each other in a matrix that is taller than wide, as NumPy has it.
Tensor fill_diagonal(const TensorOperand& x, const TensorOperand& value, bool wraps = false);
// The places on the diagonal of that number and below, or above, of a matrix: rows and columns, i64
// [2, places], row-major.
Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                    std::source_location w = std::source_location::current());
Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                    std::source_location w = std::source_location::current());

}  // namespace tilewright
