// Iterations that make bidiagonal and tridiagonal matrices diagonal, by implicit QR steps.
//
// Each reports the rotations of a step as one sequence (rotations.h), which is where most of the
// time goes if vectors are wanted. A value is accurate to some units in the last place of the
// greatest one, as after the reductions of dense matrices that lead here.
#pragma once

#include <span>

#include "graph/functions/linear_algebra/dense/rotations.h"

namespace tilewright::graph::dense {

// An upper bidiagonal matrix [n, n] of finite elements, of magnitudes around 1: `diagonal` becomes
// the singular values, with signs and in no order, and `above` [n - 1] zeros. Rotations of columns
// are applied to `right` and those of rows to `left`, unless null. False if it does not converge.
bool find_singular_values(std::span<double> diagonal, std::span<double> above, RotatedColumns* left,
                          RotatedColumns* right);

// A symmetric tridiagonal matrix, likewise: `diagonal` becomes the eigenvalues, in no order.
bool find_eigenvalues(std::span<double> diagonal, std::span<double> beside,
                      RotatedColumns* vectors);

}  // namespace tilewright::graph::dense
