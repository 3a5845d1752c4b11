// Elements by their numbers: the place of each in row-major order, as a tensor that is computed.
// What picks or replaces single elements (gather, diagonal, as_strided) is a choice of such
// numbers.
#pragma once

#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::exported {

// i64, of the given sizes: offset + the sum over the axes of place * stride.
Tensor strided_numbers(const Shape& sizes, const Strides& strides, std::int64_t offset = 0);

// The elements of x, taken row-major, with these numbers, i64 in [0, x.count()).
Tensor elements_at(const Tensor& x, const Tensor& numbers);
// x with the elements of these numbers replaced by `values`, which broadcast to them.
Tensor with_elements_at(const Tensor& x, const Tensor& numbers, const Tensor& values);

// Rows of x for index tensors of some axes (an undefined one: all of that axis), which broadcast to
// one another and count from the end where negative: PyTorch's x[a, :, b].
Tensor indexed(const Tensor& x, const std::vector<Tensor>& indices);
// x with these rows replaced by `values`; which of several for one row stays is undefined.
Tensor with_indexed(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values);

// i64 [count, rank]: the places of elements that are not 0, read on the host.
Tensor places_of_nonzero(const Tensor& x);

}  // namespace tilewright::exported
