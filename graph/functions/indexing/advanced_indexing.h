// Advanced indexing, x[a, :, b] with index tensors and masks, and functions of masks alone, under
// PyTorch's names.
//
// Indices are i32 or i64, broadcast to one another and count from the end where they are negative;
// an undefined one stands for all of its axis. Their axes are in the result where the indexed ones
// were if these are neighbours, else in front. One outside is an Error at once; inside a compiled
// function it names no element, and is an Error as far as Options::index_checks says. A mask of
// bool, or u8, over some axes stands for the places where it is true. Their number depends on the
// data, which is read: a graph ends there, and under Options::fullgraph that is an Error.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <optional>
#include <vector>

#include "graph/functions/indexing/scatters.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor index(const TensorOperand& x, const std::vector<Tensor>& indices);
// x with the part that `index` selects replaced by `values`, of x's dtype, which broadcast to it.
// Which of several for one place stays is undefined. Or with `values` added there, one after the
// other.
Tensor index_put(const TensorOperand& x, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulate = false);

// ONNX's GatherND: the last axis of the index, i32 or i64, has a place for each of as many axes of
// x, behind the first `batch_axes` of both, which go along. A tuple of no places names all of x.
Tensor gather_nd(const TensorOperand& x, const Tensor& index, int batch_axes = 0);
// ONNX's ScatterND: x with the parts that the index names so replaced by `updates`, or joined with
// them one after the other. Which of several for one place stays is undefined, but for tuples of no
// places, of which the last one does.
Tensor scatter_nd(const TensorOperand& x, const Tensor& index, const Tensor& updates,
                  std::optional<ScatterReduction> reduction = {});

namespace graph {
// index_put, written to x in place; `values` are on its device.
void write_index_put(const Tensor& x, const std::vector<Tensor>& indices, const Tensor& values,
                     bool accumulate, std::source_location w);
// x where the mask, which broadcasts to it, is false, and else the value, a tensor without axes of
// its dtype or any that broadcasts; written to x in place.
void write_where(const Tensor& x, const Tensor& mask, const Tensor& value, std::source_location w);
}  // namespace graph

// i64 [count, rank]: the places of elements that are not 0, row-major; read as a mask is.
Tensor nonzero(const TensorOperand& x);
// The first `count` of these; where there are fewer, `fill` stands for all places behind them.
// Nothing is read.
Tensor nonzero_static(const TensorOperand& x, std::int64_t count, std::int64_t fill = -1);
// [count]: the elements of x where the mask is true, row-major; both broadcast. Read as a mask is.
Tensor masked_select(const TensorOperand& x, const Tensor& mask);
// Of the size that both broadcast to: x, and where the mask is true the number, or the tensor
// without axes. Nothing is read.
Tensor masked_fill(const TensorOperand& x, const Tensor& mask, const TensorOperand& value);
// The same with the elements of `source`, one after another in row-major order, of which there are
// enough. Where they are not, inside a compiled function, 0. Nothing is read there.
Tensor masked_scatter(const TensorOperand& x, const Tensor& mask, const Tensor& source);

}  // namespace tilewright
