// Elements that join others at places that are named at run time, under PyTorch's names.
//
// Sources join one by one in their order, so that results are those of a loop, and the same each
// time. `x` and `source` have one dtype; indices are i32 or i64. A row outside the axis is an
// `Error` eagerly; inside a compiled function as far as Options::index_checks says, and else it
// names nothing. For bool, sums and maxima are `or`, products and minima `and`. Tensors without
// axes count as those of one element. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

// A mean is of all that joins, integers rounded down; bool has none.
enum class ScatterReduction : std::uint8_t { sum, prod, mean, amax, amin };

// Element i of the source joins the element of x at i's own place in all axes but `axis`, and at
// index[i] in that. The index has the axes of both, each at most as long as the source's and, but
// for `axis`, x's. Without `include_self`, the old elements of x where a source goes are left out.
// Floats of 16 bits are joined in f32 and the result is rounded once.
Tensor scatter_reduce(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                      ScatterReduction reduction, bool include_self = true);
// ONNX's ScatterElements: negative places count from the end.
Tensor scatter_elements(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                        ScatterReduction reduction);
Tensor scatter_add(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source);
// PyTorch's scatter with `reduce`, of which there are sum ("add") and prod ("multiply"); the source
// may be a number.
Tensor scatter(const TensorOperand& x, int axis, const Tensor& index, const TensorOperand& source,
               ScatterReduction reduction);

// Slice i of the source along the axis joins slice index[i] of x; index [n], the source as x but
// for its n slices. Floats of 16 bits are rounded each time.
Tensor index_reduce(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                    ScatterReduction reduction, bool include_self = true);
// With the source times alpha, which is whole for integers.
Tensor index_add(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                 const Number& alpha = 1);

// x with elements, counted row-major and from the end where negative, replaced by the source's or
// added to; index and source have equally many elements. Which of several for one element stays is
// undefined. Floats of 16 bits are rounded each time.
Tensor put(const TensorOperand& x, const Tensor& index, const Tensor& source,
           bool accumulate = false);

}  // namespace tilewright
