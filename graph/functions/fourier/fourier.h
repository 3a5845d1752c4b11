// Fourier transforms along an axis.
//
//   y[k] = scale * sum over j of x[j] exp(-+2 pi i j k / n)      n: the points of the axis
//
// Apart from sums and products by a matrix because of the cost: n of small factors is done in steps
// of one factor each (J. Cooley and J. Tukey, 1965), in the order of G. Stockham (1966), which
// leaves the results where they belong; up to 64 points, and primes up to 127, as a product by a
// matrix; n with a larger prime as a convolution (L. Bluestein, 1970). Each is a part of the graph
// like any other formula, in f32, or f64 of f64: errors are some units of the last place of the
// norm, and grow with log(n). Products by matrices heed `Options::matmul_precision`.
//
// Along axes other than the last no elements are moved first. For a real operand, and where half of
// the results determine the others, the first and the last step are half of the work. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// The sign of the exponent: forward is the negative one.
enum class FourierSign : std::uint8_t { forward, inverse };
struct FourierOptions {
  FourierSign sign = FourierSign::forward;
  double scale = 1;
};

constexpr std::int64_t most_fourier_points = 1 << 24;

ComplexTensor fourier(const ComplexTensor& x, int axis, const FourierOptions& options = {});
// The first n / 2 + 1 results for a real operand; the others are their conjugates.
ComplexTensor half_fourier(const TensorOperand& x, int axis, const FourierOptions& options = {});
// The real results, of an operand of which the first points / 2 + 1 elements are given and the
// others are the conjugates of these. The imaginary parts of the first, and of the middle one of an
// even number of points, count as 0.
Tensor real_fourier(const ComplexTensor& half, int axis, std::int64_t points,
                    const FourierOptions& options = {});

}  // namespace tilewright
