// Distances and angles between rows, and the losses made of them, under PyTorch's names.
//
// Operands are floating, broadcast and promote; those of 16 bits are computed in f32 and the result
// is rounded once. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// The cosine of the angle along an axis, of norms that are at least eps.
Tensor cosine_similarity(const TensorOperand& a, const TensorOperand& b, int axis = 1,
                         double eps = 1e-8);
// The norm of a - b + eps over the last axis.
Tensor pairwise_distance(const TensorOperand& a, const TensorOperand& b, double order = 2,
                         double eps = 1e-6, bool keep_dims = false);

// a and b [rows, N] or [N], targets [rows] or none of 1 and -1: 1 - cosine, or max(0, cosine -
// margin).
Tensor cosine_embedding_loss(const TensorOperand& a, const TensorOperand& b, const Tensor& target,
                             double margin = 0, LossReduction reduction = LossReduction::mean);
struct TripletOptions {
  double margin = 1, order = 2, eps = 1e-6;
  bool swap = false;  // the negative's distance is the less of those from anchor and positive
  LossReduction reduction = LossReduction::mean;
};
// max(0, distance to the positive - distance to the negative + margin) of each anchor.
Tensor triplet_margin_loss(const TensorOperand& anchor, const TensorOperand& positive,
                           const TensorOperand& negative, const TripletOptions& options = {});

// Of each row of x1 [.., P, M] to each of x2 [.., R, M]: [.., P, R]; and of each row of a matrix to
// each later one: [N (N - 1) / 2].
Tensor cdist(const TensorOperand& x1, const Tensor& x2, double order = 2);
Tensor pdist(const TensorOperand& x, double order = 2);

}  // namespace tilewright
