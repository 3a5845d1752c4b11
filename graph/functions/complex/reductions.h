// Sums, products, means and variances of complex tensors, under PyTorch's names.
//
// Over the given axes, all if there are none; they become 1 or go away. Misuse raises `Error`; safe
// to call from several threads.
#pragma once

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright {

ComplexTensor sum(const ComplexTensor& z, const std::vector<int>& axes = {},
                  bool keep_dims = false);
ComplexTensor mean(const ComplexTensor& z, const std::vector<int>& axes = {},
                   bool keep_dims = false);
ComplexTensor cumsum(const ComplexTensor& z, int axis);
// Over one axis or all elements, in pairs, so that rounding grows with the logarithm of their
// number; over no elements 1.
ComplexTensor prod(const ComplexTensor& z, std::optional<int> axis = {}, bool keep_dims = false);
// The products of the first elements along an axis.
ComplexTensor cumprod(const ComplexTensor& z, int axis);

// The mean of abs(z - mean)^2 with n - correction for n, and its root; both are real.
Tensor var(const ComplexTensor& z, const std::vector<int>& axes = {}, double correction = 1,
           bool keep_dims = false);
Tensor stddev(const ComplexTensor& z, const std::vector<int>& axes = {}, double correction = 1,
              bool keep_dims = false);
std::pair<Tensor, ComplexTensor> var_mean(const ComplexTensor& z, const std::vector<int>& axes = {},
                                          double correction = 1, bool keep_dims = false);
std::pair<Tensor, ComplexTensor> std_mean(const ComplexTensor& z, const std::vector<int>& axes = {},
                                          double correction = 1, bool keep_dims = false);
// The norm of the magnitudes.
Tensor linalg_vector_norm(const ComplexTensor& z, double order = 2,
                          const std::vector<int>& axes = {}, bool keep_dims = false);

// A flag where the correction belongs is a mistake.
template <std::same_as<bool> Flag>
Tensor var(const ComplexTensor& z, const std::vector<int>& axes, Flag) = delete;
template <std::same_as<bool> Flag>
Tensor stddev(const ComplexTensor& z, const std::vector<int>& axes, Flag) = delete;
template <std::same_as<bool> Flag>
void var_mean(const ComplexTensor& z, const std::vector<int>& axes, Flag) = delete;
template <std::same_as<bool> Flag>
void std_mean(const ComplexTensor& z, const std::vector<int>& axes, Flag) = delete;

}  // namespace tilewright
