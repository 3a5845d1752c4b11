// The product of matrices in small floats whose neighbours along the inner axis share a scale, 32
// by 32 (the microscaling formats of the Open Compute Project). Made of other words: the operands
// are brought to a type that holds each scaled element exactly, and multiplied.
#pragma once

#include <optional>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

//   e2m1         0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, two in a byte (u8), the first of
//   the
//                two along the inner axis in its lower half
//   e4m3, e5m2   of f8e4m3 and f8e5m2, or their bits as u8
//   plain        any float of 16 bits
enum class ScaledFormat : std::uint8_t { e2m1, e4m3, e5m2, plain };

// One side of a product. Scales are powers of two as u8 (e8m0): 2^(s - 127), 255 is NaN.
struct ScaledOperand {
  Operand elements;
  ScaledFormat format;
  std::optional<Operand> scales = {};  // nothing: all are 1
};

// acc + a b in f32, with a [M, K] and its scales [M, K / 32], b [K, N] and its scales [N, K / 32];
// elements of e2m1 are [M, K / 2] and [K / 2, N]. Operands are multiplied as the float of 16 bits
// that has the exponents of f32, out of whose range products of the smallest and of the largest
// scales are; beside f16 they are multiplied as f32, by tf32 where a GPU has it, which is exact.
// Raises `Error` for other types and sizes.
Tile dot_scaled(const ScaledOperand& a, const ScaledOperand& b,
                const std::optional<Operand>& acc = {});

}  // namespace tilewright::dsl
