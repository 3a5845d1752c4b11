// How exactly a compiled function multiplies f32: an option of compile().
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

// Matrix products and attention of f32, as PyTorch's float32_matmul_precision:
//   highest  operands are f32
//   high     on GPUs operands are rounded to tf32 (10 bits of mantissa, a relative error of 2^-10
//            of each |a b|) and multiplied by tensor cores; the host does as with highest
// Sums are f32 either way.
enum class MatmulPrecision : std::uint8_t { highest, high };
std::string_view name_of(MatmulPrecision precision);
MatmulPrecision parse_matmul_precision(std::string_view name);  // raises `Error` listing the names

}  // namespace tilewright
