// Orthogonal matrices as products of reflections, under PyTorch's names, as LAPACK has them: the
// k-th reflection is I - tau v v', with v zero above its k-th element, which is one.
//
// Of batches [.., m, n], as in solving.h: computed in f64, on GPUs a turn of a loop for each
// column.
#pragma once

#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// R above and on the diagonal and the vectors below it, [.., m, n]; tau [.., min(m, n)].
std::pair<Tensor, Tensor> geqrf(const TensorOperand& a);
// The first columns of the product of reflections, as many as the operand has.
Tensor householder_product(const TensorOperand& vectors, const Tensor& tau);
// The product, or what undoes it, times matrices [.., m, k].
Tensor reflected(const TensorOperand& vectors, const Tensor& tau, const Tensor& matrices,
                 bool undone = false);
// Q [.., m, k] and R [.., k, n] for k = min(m, n), or for m where `complete`.
std::pair<Tensor, Tensor> qr(const TensorOperand& a, bool complete = false);

}  // namespace tilewright
