// Element types: the type of one element of a tensor or of a tile.
//
// The table is dtype.def. A boolean is stored as one byte, 0 or 1. Separate from shapes and tensors
// because the kernel language, the loaders and the runtime all speak of element types alone.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/base/float8.h"
#include "runtime/base/half.h"

namespace tilewright {

enum class DType : std::uint8_t {
#define TILEWRIGHT_DTYPE(name, ...) name,
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
};

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };

// The types by their short names: `f32` for `DType::f32`.
#define TILEWRIGHT_DTYPE(name, ...) inline constexpr DType name = DType::name;
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE

DTypeKind kind_of(DType dtype);
int bit_width(DType dtype);             // bits that one element holds in memory
int digits(DType dtype);                // binary, of the integers it holds without a gap
int exponent_bits(DType dtype);         // of a float; 0 of others
int exponent_bias(DType dtype);         // likewise
std::int64_t size_bytes(DType dtype);   // bytes of one element in memory
std::string_view name_of(DType dtype);  // "f32"; a boolean is "bool"
std::optional<DType> parse_dtype(std::string_view name);
std::string_view storage_name(DType dtype);  // in safetensors files: "F32"
std::uint8_t dlpack_code(DType dtype);       // of DLDataType, which gives the bits beside it
std::span<const DType> all_dtypes();

inline bool is_floating(DType d) { return kind_of(d) == DTypeKind::floating; }
// Floats of 8 bits are stored, converted and multiplied as matrices; there is no other arithmetic.
inline bool is_float8(DType d) { return is_floating(d) && bit_width(d) == 8; }
// Floats without infinities and without -0, whose code is their only NaN. They are recognised by
// their bias, the only ones that are a power of two.
inline bool is_fnuz(DType d) {
  return is_float8(d) && exponent_bias(d) == 1 << (exponent_bits(d) - 1);
}
// The two floats of 16 bits, whose sums and functions are computed in f32.
inline bool is_float16(DType d) { return is_floating(d) && bit_width(d) == 16; }
// The type in which sums of elements are accumulated: f32 for shorter floats, else their own.
inline DType accumulator(DType d) { return is_floating(d) && bit_width(d) < 32 ? DType::f32 : d; }
inline bool is_boolean(DType d) { return d == DType::boolean; }
inline bool is_signed(DType d) { return kind_of(d) == DTypeKind::signed_integer; }
inline bool is_integer(DType d) { return !is_floating(d) && !is_boolean(d); }

std::ostream& operator<<(std::ostream& out, DType dtype);

// The DType of a host type: dtype_of<float>() is f32.
template <typename T>
constexpr DType dtype_of() {
#define TILEWRIGHT_DTYPE(name, host, ...) \
  if constexpr (std::is_same_v<T, host>)  \
    return DType::name;                   \
  else
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
  static_assert(!sizeof(T*), "no element type has this host type");
}

// Calls `f(T{})` with the host type of `dtype` and returns the result.
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
#define TILEWRIGHT_DTYPE(name, host, ...) \
  case DType::name:                       \
    return f(host{});
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
  }
  __builtin_unreachable();
}

// The first rounds to the nearest number of a floating type, as its host type rounds f32 (f64 stays
// as it is). The others convert such a number to its bits, in the lowest ones, and back.
double rounded_to(DType floating, double value);
std::uint64_t bits_of(DType floating, double value);
double value_of_bits(DType floating, std::uint64_t bits);

// The type that results when operands of both types meet in one operation, by PyTorch's promotion:
// floating over integer over boolean, the wider of one kind; two floating types of one width give
// f32.
DType promote(DType a, DType b);

}  // namespace tilewright
