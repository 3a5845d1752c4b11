#include "runtime/base/dtype.h"

#include <array>
#include <cstring>
#include <ostream>

namespace tilewright {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeKind kind;
  int digits, exponent, bias;
  std::string_view storage_name;
  std::uint8_t dlpack_code;
  std::int64_t bytes;
};

constexpr std::array rows = {
#define TILEWRIGHT_DTYPE(name, host, bits, kind, digits, exponent, bias, storage, code, ...) \
  Row{DType::name == DType::boolean ? "bool" : #name,                                        \
      bits,                                                                                  \
      DTypeKind::kind,                                                                       \
      digits,                                                                                \
      exponent,                                                                              \
      bias,                                                                                  \
      storage,                                                                               \
      code,                                                                                  \
      sizeof(host)},
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
};

constexpr std::array dtypes = {
#define TILEWRIGHT_DTYPE(name, ...) DType::name,
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
};

const Row& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

// An element of the host type T, which is no integer.
template <typename T>
constexpr bool is_float_type = !std::is_integral_v<T>;
template <typename T>
T element_of(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}
template <typename T>
double number_of(T element) {
  if constexpr (std::is_same_v<T, double>)
    return element;
  else
    return static_cast<double>(static_cast<float>(element));
}

}  // namespace

DTypeKind kind_of(DType dtype) { return row(dtype).kind; }
int bit_width(DType dtype) { return row(dtype).bits; }
std::int64_t size_bytes(DType dtype) { return row(dtype).bytes; }
std::string_view name_of(DType dtype) { return row(dtype).name; }
int digits(DType dtype) { return row(dtype).digits; }
int exponent_bits(DType dtype) { return row(dtype).exponent; }
int exponent_bias(DType dtype) { return row(dtype).bias; }
std::string_view storage_name(DType dtype) { return row(dtype).storage_name; }
std::uint8_t dlpack_code(DType dtype) { return row(dtype).dlpack_code; }
std::span<const DType> all_dtypes() { return dtypes; }

double rounded_to(DType floating, double value) {
  return dispatch(floating, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (is_float_type<T>) return number_of(element_of<T>(value));
    __builtin_unreachable();
  });
}

std::uint64_t bits_of(DType floating, double value) {
  return dispatch(floating, [&](auto zero) -> std::uint64_t {
    using T = decltype(zero);
    std::uint64_t bits = 0;
    if constexpr (is_float_type<T>) {
      T element = element_of<T>(value);
      std::memcpy(&bits, &element, sizeof element);
    }
    return bits;
  });
}

double value_of_bits(DType floating, std::uint64_t bits) {
  return dispatch(floating, [&](auto element) -> double {
    if constexpr (is_float_type<decltype(element)>) {
      std::memcpy(static_cast<void*>(&element), &bits, sizeof element);
      return number_of(element);
    }
    __builtin_unreachable();
  });
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType d : dtypes)
    if (name_of(d) == name) return d;
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_boolean(a)) return b;
  if (is_boolean(b)) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (bit_width(a) != bit_width(b)) {
    DType wide = bit_width(a) > bit_width(b) ? a : b, narrow = wide == a ? b : a;
    // An unsigned type does not hold negative values: signed of the wider size, where there is one.
    if (is_signed(narrow) && kind_of(wide) == DTypeKind::unsigned_integer) return DType::i64;
    return wide;
  }
  if (is_floating(a)) return DType::f32;  // f16 with bf16, and those of 8 bits
  switch (bit_width(a)) {                 // signed with unsigned of one width: the next signed
    case 8: return DType::i16;
    case 16: return DType::i32;
    default: return DType::i64;
  }
}

}  // namespace tilewright
