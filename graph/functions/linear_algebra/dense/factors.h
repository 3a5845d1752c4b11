// Factorisations of dense matrices as ops that the host computes, by Eigen and by loops of ours.
//
// Apart from the functions on tensors (solving.h, reflections.h, spectra.h, complex_matrices.h),
// which say what is meant, because these see memory: row-major batches of one axis, f32 or f64, of
// which each matrix is taken to f64 and each result rounded once. A complex operand or result is
// two tensors, the real and the imaginary parts.
//
// An op reads a matrix before it writes any of its results, never raises an error for what elements
// are, and ends for all of them: of what is not finite, iterations give NaN.
#pragma once

#include "graph/functions/custom/custom_op.h"

namespace tilewright::graph::dense {

// What an op is asked for besides its operands, bits of one number.
using Flags = unsigned;
constexpr Flags upper = 1;          // of the matrix that half is read, or given
constexpr Flags unit_diagonal = 2;  // ones, which are not read
constexpr Flags values_only = 2;    // of eigenvalues and singular values, without vectors
constexpr Flags complete = 4;       // orthogonal matrices are square
constexpr Flags undone = 8;         // the inverse of the product

// a [b, m, n]: factors [b, m, n]; real: pivots [b, k], from 1 on, and rows [b, m] (LuFactors in
// solving.h), and the sign [b] of the order of the rows.
CustomOp lu(bool is_complex);
// a [b, n, n] and b [b, n, k]: x of a x = b.
CustomOp solution(bool is_complex);
CustomOp inverse(bool is_complex);
// [b] each: the determinant, its direction, and, real, the logarithm of its magnitude.
CustomOp determinant(bool is_complex);
CustomOp triangular_solution(bool is_complex, Flags flags);  // upper, unit_diagonal
CustomOp cholesky(bool is_complex, Flags flags);             // upper

// a [b, m, n]: factors [b, m, n] and tau [b, min(m, n)].
CustomOp reflections(bool is_complex);
// vectors [b, m, n], x [b, m, l], tau [b, k]: the product of reflections times x.
CustomOp reflected(bool is_complex, Flags flags);   // undone
CustomOp orthogonal(bool is_complex, Flags flags);  // complete; a: q and r

// Of one half of a [b, n, n]: real values [b, n] from the least on, and vectors [b, n, n].
CustomOp symmetric_spectrum(bool is_complex, Flags flags);  // upper, values_only
// Of a [b, n, n], complex whatever a is: values [b, n], and vectors [b, n, n] of length 1 whose
// greatest element is real.
CustomOp spectrum(bool is_complex, Flags flags);  // values_only
// a [b, m, n]: left [b, m, .], real values [b, min(m, n)] from the greatest on, right [b, n, .].
CustomOp singular_values(bool is_complex, Flags flags);  // complete, values_only

}  // namespace tilewright::graph::dense
