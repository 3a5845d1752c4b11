// A tensor with elements or parts of it replaced where index tensors say, under PyTorch's names,
// without accumulating: of several for one place it is undefined which one stays.
//
// Nothing is written in place. An index is i32 or i64. One outside is an Error at once; inside a
// compiled function it names no element, and is an Error as far as Options::index_checks says.
// The replacement is of x's dtype, or a number. A tensor without axes counts as having one. Misuse
// raises `Error`; safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// x with the elements that `gather` would give for the index replaced by those of `source` at their
// places, which has at least as many along each axis, or by a number.
Tensor scatter(const TensorOperand& x, int axis, const Tensor& index, const TensorOperand& source);
// scatter where negative places count from the end: ONNX's ScatterElements, whose reductions are in
// scatters.h.
Tensor scatter_elements(const TensorOperand& x, int axis, const Tensor& index,
                        const TensorOperand& source);
// x with the parts at the places of the axis, an index [n] or without axes, replaced by those of
// `source`; its axis has n elements.
Tensor index_copy(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source);
// The same with one number, or a tensor without axes, everywhere; negative places count from the
// end.
Tensor index_fill(const TensorOperand& x, int axis, const Tensor& index,
                  const TensorOperand& value);

}  // namespace tilewright
