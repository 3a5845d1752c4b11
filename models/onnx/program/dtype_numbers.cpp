#include "models/onnx/program/dtype_numbers.h"

namespace tilewright::onnx {
namespace {

// The format of the numbers of a type; types are found by it, so that none need be named.
struct Format {
  std::int64_t number;
  DTypeKind kind;
  int bits, exponent_bits = 0, bias = 0;
};
constexpr Format formats[] = {
    {1, DTypeKind::floating, 32, 8, 127},  {2, DTypeKind::unsigned_integer, 8},
    {3, DTypeKind::signed_integer, 8},     {4, DTypeKind::unsigned_integer, 16},
    {5, DTypeKind::signed_integer, 16},    {6, DTypeKind::signed_integer, 32},
    {7, DTypeKind::signed_integer, 64},    {9, DTypeKind::boolean, 8},
    {10, DTypeKind::floating, 16, 5, 15},  {11, DTypeKind::floating, 64, 11, 1023},
    {12, DTypeKind::unsigned_integer, 32}, {13, DTypeKind::unsigned_integer, 64},
    {16, DTypeKind::floating, 16, 8, 127}, {17, DTypeKind::floating, 8, 4, 7},
    {18, DTypeKind::floating, 8, 4, 8},    {19, DTypeKind::floating, 8, 5, 15},
    {20, DTypeKind::floating, 8, 5, 16},
};

}  // namespace

std::optional<DType> dtype_of_number(std::int64_t number) {
  for (const Format& format : formats) {
    if (format.number != number) continue;
    for (DType dtype : all_dtypes())
      if (kind_of(dtype) == format.kind && bit_width(dtype) == format.bits &&
          exponent_bits(dtype) == format.exponent_bits && exponent_bias(dtype) == format.bias)
        return dtype;
  }
  return std::nullopt;
}

std::string_view name_of_other(std::int64_t number) {
  switch (number) {
    case 0: return "undefined";
    case 8: return "string";
    case 14: return "complex64";
    case 15: return "complex128";
    case 21: return "uint4";
    case 22: return "int4";
    case 23: return "float4e2m1";
    case 24: return "float8e8m0";
    default: return "unknown";
  }
}

}  // namespace tilewright::onnx
