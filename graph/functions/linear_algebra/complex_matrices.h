// Systems of equations, factors and spectra of complex matrices, and eigenvalues of matrices that
// are not symmetric, under PyTorch's names.
//
// They mean what the functions of solving.h, reflections.h and spectra.h do, which say more. A
// matrix without an imaginary part is real, and so are then the results' matrices, but for those of
// eig. Batches [.., m, n], f64, rounded once to the operand's dtype; the host computes them, on
// other devices of copies. A matrix that is not finite has eigenvalues and singular values NaN.
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <source_location>
#include <utility>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

struct ComplexLuFactors {
  ComplexTensor factors;
  Tensor pivots, rows, sign;
};
ComplexLuFactors lu_factor(const ComplexTensor& a,
                           std::source_location w = std::source_location::current());
// L of L L^H, or U of U^H U.
ComplexTensor cholesky(const ComplexTensor& a, bool upper = false,
                       std::source_location w = std::source_location::current());
ComplexTensor solve_triangular(const ComplexTensor& a, const ComplexTensor& b,
                               const TriangularOptions& options = {},
                               std::source_location w = std::source_location::current());
ComplexTensor solve(const ComplexTensor& a, const ComplexTensor& b,
                    std::source_location w = std::source_location::current());
ComplexTensor inverse(const ComplexTensor& a,
                      std::source_location w = std::source_location::current());
ComplexTensor determinant(const ComplexTensor& a,
                          std::source_location w = std::source_location::current());
struct ComplexLogDeterminant {
  ComplexTensor direction;  // of magnitude 1, or 0
  Tensor log_magnitude;
};
ComplexLogDeterminant log_determinant(const ComplexTensor& a,
                                      std::source_location w = std::source_location::current());

// The k-th reflection is I - tau v v^H.
std::pair<ComplexTensor, ComplexTensor> geqrf(
    const ComplexTensor& a, std::source_location w = std::source_location::current());
ComplexTensor reflected(const ComplexTensor& vectors, const ComplexTensor& tau,
                        const ComplexTensor& matrices, bool undone = false,
                        std::source_location w = std::source_location::current());
ComplexTensor householder_product(const ComplexTensor& vectors, const ComplexTensor& tau,
                                  std::source_location w = std::source_location::current());
std::pair<ComplexTensor, ComplexTensor> qr(
    const ComplexTensor& a, bool complete = false,
    std::source_location w = std::source_location::current());

// Of any square matrices: values [.., n], and vectors as columns, of length 1, whose greatest
// element is real; in the order in which they are found. Values of a real matrix that are not real
// come in pairs, with the positive imaginary part first.
std::pair<ComplexTensor, ComplexTensor> eig(
    const ComplexTensor& a, std::source_location w = std::source_location::current());
ComplexTensor eigvals(const ComplexTensor& a,
                      std::source_location w = std::source_location::current());
// Of Hermitian matrices: real values, and vectors as columns.
std::pair<Tensor, ComplexTensor> eigh(const ComplexTensor& a, bool upper = false,
                                      std::source_location w = std::source_location::current());
Tensor eigvalsh(const ComplexTensor& a, bool upper = false,
                std::source_location w = std::source_location::current());
// The operand is left diag(values) right^H. Where `complete`, left and right are square.
struct ComplexSingularValues {
  ComplexTensor left;
  Tensor values;
  ComplexTensor right;
};
ComplexSingularValues svd(const ComplexTensor& a, bool complete = false,
                          std::source_location w = std::source_location::current());
Tensor svdvals(const ComplexTensor& a, std::source_location w = std::source_location::current());

}  // namespace tilewright
