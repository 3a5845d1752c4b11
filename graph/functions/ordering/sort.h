// Functions that put the elements along an axis in order, or pick some by their order, under
// PyTorch's names.
//
// NaN are greater than all numbers and equals among themselves, as are -0 and 0. Equals keep their
// order everywhere, also where the order descends: every sort is stable, whatever it is asked, and
// of equals `topk` and `kthvalue` name the first ones. Places are i64, along the axis. Axes count
// from the end where they are negative; a tensor without axes is taken as one element. Elements may
// be bool (which PyTorch only sorts), integers, or floats of 16 bits and more.
//
// Each function is one operation, and recorded whole in a function that is captured. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The elements of each row in order, and where they were: {values, places}.
std::pair<Tensor, Tensor> sort(const TensorOperand& x, int axis = -1, bool descending = false,
                               bool stable = false);
// The places alone.
Tensor argsort(const TensorOperand& x, int axis = -1, bool descending = false, bool stable = false);
// The values alone, along the first axis.
Tensor msort(const TensorOperand& x);

// The k greatest of each row, or the k least, and where they are, the foremost first (also where
// they need not be `sorted`). The axis becomes k; 0 <= k <= its size.
std::pair<Tensor, Tensor> topk(const TensorOperand& x, std::int64_t k, int axis = -1,
                               bool largest = true, bool sorted = true);
// The element that k - 1 others come before, and its place; 1 <= k <= the axis's size.
std::pair<Tensor, Tensor> kthvalue(const TensorOperand& x, std::int64_t k, int axis = -1,
                                   bool keep_dims = false);

// The middle element of each row, the lower of two, and its place; where there is a NaN, that one,
// with the place of the first. `nanmedian` leaves NaN out; of NaN alone it is one, at place 0.
std::pair<Tensor, Tensor> median(const TensorOperand& x, int axis, bool keep_dims = false);
std::pair<Tensor, Tensor> nanmedian(const TensorOperand& x, int axis, bool keep_dims = false);
// The median of all elements; of no floats NaN, of no integers an Error.
Tensor median(const TensorOperand& x);
Tensor nanmedian(const TensorOperand& x);

}  // namespace tilewright
