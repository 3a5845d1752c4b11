// Elements and parts of a tensor by index tensors, under PyTorch's names.
//
// An index is i32 or i64. One outside is an Error at once; inside a compiled function it names no
// element, which is 0, and is an Error as far as Options::index_checks says. A tensor without axes
// counts as having one. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The result has index's shape: for an index of as many axes as x, x's element at the index along
// `axis`, and at the place of the index in the others, along which there are no more of them than x
// has.
Tensor gather(const TensorOperand& x, int axis, const Tensor& index);
// gather where negative places count from the end: ONNX's GatherElements.
Tensor gather_elements(const TensorOperand& x, int axis, const Tensor& index);
// gather where index and x broadcast in the other axes, and negative places count from the end.
// Without an axis, works on all elements of both, row-major, and no place counts from the end.
Tensor take_along_dim(const TensorOperand& x, const Tensor& index, std::optional<int> axis = {});
// x's elements with these numbers, row-major; negative ones count from the end.
Tensor take(const TensorOperand& x, const Tensor& index);
// The parts of x at these places of the axis, an index [n] or without axes.
Tensor index_select(const TensorOperand& x, int axis, const Tensor& index);
// PyTorch's _unsafe_masked_index and _unsafe_masked_index_put_accumulate: x at indices, or with
// values added there, where the mask is true; elsewhere `fill`, or nothing. The mask has the axes
// that are indexed, which come first; where it is false indices may lie outside.
Tensor masked_index(const TensorOperand& x, const Tensor& mask, std::vector<Tensor> indices,
                    const TensorOperand& fill);
Tensor masked_index_add(const TensorOperand& x, const Tensor& mask, std::vector<Tensor> indices,
                        const Tensor& values);
// x [T, B, ..] or, where `batch_first`, [B, T, ..] with the first elements of each sequence along T
// in the other order, as many as `lengths` [B] has for it; the others stay.
Tensor reverse_sequences(const TensorOperand& x, const Tensor& lengths, bool batch_first);
// i64 [.., classes]: 1 where the class is the one that x names, else 0. Without a number of classes
// it is one more than the greatest class, which is read: a graph ends there.
Tensor one_hot(const TensorOperand& x, std::int64_t classes = -1);
// ONNX's OneHot: the second of two values at the class, the first one elsewhere, along a new axis
// before `axis`. Classes below 0 count from the end; those outside are nowhere.
Tensor one_hot(const TensorOperand& x, std::int64_t classes, const Tensor& values, int axis);

}  // namespace tilewright
