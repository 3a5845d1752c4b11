// Derivatives of named functions, as the rules that their objects are made with, where the
// derivative of the body is missing, slow or not PyTorch's at ties. Defined in
// functions/derivatives, which sees the functions that they are made of.
#pragma once

#include <vector>

#include "graph/functions/named/named_function.h"

namespace tilewright::graph::named {

// The operands are x, the weight and the bias.
std::vector<Tensor> convolution_derivative(const DerivativeCall& call);
std::vector<Tensor> transposed_convolution_derivative(const DerivativeCall& call);
// To the element that each window has its maximum from, the first of equals.
std::vector<Tensor> max_pool_derivative(const DerivativeCall& call);
std::vector<Tensor> batch_norm_training_derivative(const DerivativeCall& call);

// Matrices must not be singular, except those of determinants. Eigenvalues must differ where the
// vectors have cotangents.
std::vector<Tensor> inverse_derivative(const DerivativeCall& call);
std::vector<Tensor> solve_derivative(const DerivativeCall& call);
std::vector<Tensor> solve_triangular_derivative(const DerivativeCall& call);
std::vector<Tensor> determinant_derivative(const DerivativeCall& call);
std::vector<Tensor> log_determinant_derivative(const DerivativeCall& call);
std::vector<Tensor> cholesky_derivative(const DerivativeCall& call);
std::vector<Tensor> eigh_derivative(const DerivativeCall& call);
std::vector<Tensor> eigvalsh_derivative(const DerivativeCall& call);
// Singular values must differ where the vectors have cotangents.
std::vector<Tensor> svd_derivative(const DerivativeCall& call);
std::vector<Tensor> svdvals_derivative(const DerivativeCall& call);
// The first columns, as many as there are rows, are independent.
std::vector<Tensor> qr_derivative(const DerivativeCall& call);
// The diagonal of U has no 0.
std::vector<Tensor> lu_factor_derivative(const DerivativeCall& call);

}  // namespace tilewright::graph::named
