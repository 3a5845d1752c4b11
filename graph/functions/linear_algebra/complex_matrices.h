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

#include "graph/functions/fourier/complex_parts.h"
#include "graph/functions/linear_algebra/triangular_options.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

struct ComplexLuFactors {
  ComplexParts factors;
  Tensor pivots, rows, sign;
};
ComplexLuFactors lu_factor(const ComplexParts& a,
                           std::source_location w = std::source_location::current());
// L of L L^H, or U of U^H U.
ComplexParts cholesky(const ComplexParts& a, bool upper = false,
                      std::source_location w = std::source_location::current());
ComplexParts solve_triangular(const ComplexParts& a, const ComplexParts& b,
                              const TriangularOptions& options = {},
                              std::source_location w = std::source_location::current());
ComplexParts solve(const ComplexParts& a, const ComplexParts& b,
                   std::source_location w = std::source_location::current());
ComplexParts inverse(const ComplexParts& a,
                     std::source_location w = std::source_location::current());
ComplexParts determinant(const ComplexParts& a,
                         std::source_location w = std::source_location::current());
struct ComplexLogDeterminant {
  ComplexParts direction;  // of magnitude 1, or 0
  Tensor log_magnitude;
};
ComplexLogDeterminant log_determinant(const ComplexParts& a,
                                      std::source_location w = std::source_location::current());

// The k-th reflection is I - tau v v^H.
std::pair<ComplexParts, ComplexParts> geqrf(
    const ComplexParts& a, std::source_location w = std::source_location::current());
ComplexParts reflected(const ComplexParts& vectors, const ComplexParts& tau,
                       const ComplexParts& matrices, bool undone = false,
                       std::source_location w = std::source_location::current());
ComplexParts householder_product(const ComplexParts& vectors, const ComplexParts& tau,
                                 std::source_location w = std::source_location::current());
std::pair<ComplexParts, ComplexParts> qr(const ComplexParts& a, bool complete = false,
                                         std::source_location w = std::source_location::current());

// Of any square matrices: values [.., n], and vectors as columns, of length 1, whose greatest
// element is real; in the order in which they are found. Values of a real matrix that are not real
// come in pairs, with the positive imaginary part first.
std::pair<ComplexParts, ComplexParts> eig(const ComplexParts& a,
                                          std::source_location w = std::source_location::current());
ComplexParts eigvals(const ComplexParts& a,
                     std::source_location w = std::source_location::current());
// Of Hermitian matrices: real values, and vectors as columns.
std::pair<Tensor, ComplexParts> eigh(const ComplexParts& a, bool upper = false,
                                     std::source_location w = std::source_location::current());
Tensor eigvalsh(const ComplexParts& a, bool upper = false,
                std::source_location w = std::source_location::current());
// The operand is left diag(values) right^H. Where `complete`, left and right are square.
struct ComplexSingularValues {
  ComplexParts left;
  Tensor values;
  ComplexParts right;
};
ComplexSingularValues svd(const ComplexParts& a, bool complete = false,
                          std::source_location w = std::source_location::current());
Tensor svdvals(const ComplexParts& a, std::source_location w = std::source_location::current());

}  // namespace tilewright
