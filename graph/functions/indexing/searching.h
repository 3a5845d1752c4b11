// Where numbers belong in sorted ones, by binary search, under PyTorch's names.
//
// A search takes log2 n steps, in each of which all numbers look at one element each. A NaN belongs
// to the end. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

struct SearchOptions {
  bool right = false;      // behind those that are equal, else in front of them
  bool out_int32 = false;  // i32, else i64
  Tensor sorter = {};      // i32 or i64, of the sequence's shape: the order that sorts it
};
// For each value, how many elements of the sequence, sorted along its last axis, are less, or are
// not greater with `right`. The sequence is [S], and values have any shape, or [.., S] with values
// [.., V] of equal leading axes. A number gives a tensor without axes.
Tensor searchsorted(const TensorOperand& sequence, const TensorOperand& values,
                    const SearchOptions& options = {});
// The same, of boundaries [S].
Tensor bucketize(const TensorOperand& values, const Tensor& boundaries, bool right = false,
                 bool out_int32 = false);

}  // namespace tilewright
