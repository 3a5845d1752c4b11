// How exactly a compiled function multiplies f32: an option of compile().
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

// Matrix products, convolutions and attention of f32, as PyTorch's float32_matmul_precision:
//   highest  operands are f32
//   high     on GPUs operands are rounded to tf32 (10 bits of mantissa, a relative error of 2^-10
//            of each |a b|) and multiplied by tensor cores; on the host convolutions by filters of
//            three rows may be computed by Winograd's transform, in two thirds of the products, and
//            what else there is as with highest
// Sums are f32 either way. With the transform an error is small beside (the sum of the magnitudes
// that a window sees) times (that of its filter), not beside the sum of the magnitudes of their
// products: it shows where neighbouring rows differ by factors of thousands, and infinities and
// numbers near f32's greatest may give NaN (graph/regions/winograd.h).
enum class MatmulPrecision : std::uint8_t { highest, high };
std::string_view name_of(MatmulPrecision precision);
MatmulPrecision parse_matmul_precision(std::string_view name);  // raises `Error` listing the names

}  // namespace tilewright
