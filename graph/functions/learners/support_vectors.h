// Support vector machines over rows of features: values of kernels, scores of pairs of classes, and
// probabilities that are coupled from those of pairs.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class VectorKernel : std::uint8_t { linear, polynomial, radial, sigmoid };
// With d the product of two rows: d, (gamma d + offset)^degree, exp(-gamma |x - v|^2) and
// tanh(gamma d + offset).
struct KernelOptions {
  VectorKernel kind = VectorKernel::linear;
  double gamma = 0, offset = 0, degree = 3;
};
// The kernel of each row of x [rows, features] and each vector [vectors, features]: [rows,
// vectors].
Tensor kernel_values(const TensorOperand& x, const Tensor& vectors,
                     const KernelOptions& options = {});

// Vectors class by class, `per_class` of each, and as libsvm has them the coefficients
// [classes - 1, vectors] and an offset for each pair of classes.
struct PairwiseMachines {
  std::vector<std::int64_t> per_class;
  std::vector<float> coefficients, offsets;
};
// The scores of the pairs (0, 1), (0, 2), .., (1, 2), ..: [rows, pairs]. Above 0 the first wins.
Tensor pairwise_scores(const TensorOperand& kernels, const PairwiseMachines& machines);
// How many pairs each class wins: [rows, classes].
Tensor pairwise_votes(const TensorOperand& scores, std::int64_t classes);

// The probability of each class, [rows, classes]: that of the first of a pair is
// 1 / (1 + exp(a score + b)). These are coupled by the second method of T.-F. Wu,
// C.-J. Lin and R. C. Weng, Probability estimates for multi-class classification by pairwise
// coupling, 2004, and as closely as libsvm does.
Tensor coupled_probabilities(const TensorOperand& scores, const std::vector<float>& a,
                             const std::vector<float>& b, std::int64_t classes);

}  // namespace tilewright
