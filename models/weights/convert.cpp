#include "models/weights/convert.h"

#include <cmath>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright::weights {
namespace {

template <typename T>
constexpr bool is_host_floating = std::is_floating_point_v<T> || !std::is_arithmetic_v<T>;

template <typename T>
T load(const void* source, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(source) + index * std::int64_t{sizeof(T)},
              sizeof(T));
  return value;
}

// Between narrow types by way of float, which holds both exactly.
template <typename To, typename From>
To convert_one(From value) {
  if constexpr (std::is_floating_point_v<To> && std::is_floating_point_v<From>)
    return static_cast<To>(value);
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(static_cast<float>(value));
  else
    return To(static_cast<float>(value));
}

}  // namespace

bool is_convertible(DType from, DType to) {
  return from == to || (is_floating(from) && is_floating(to));
}

void convert(const void* source, DType from, void* destination, DType to, std::int64_t count) {
  check(is_convertible(from, to), "conversion between types that are not both floating");
  if (from == to) {
    if (count > 0)
      std::memcpy(destination, source, static_cast<std::size_t>(count * size_bytes(from)));
    return;
  }
  dispatch(from, [&](auto from_zero) {
    dispatch(to, [&](auto to_zero) {
      using From = decltype(from_zero);
      using To = decltype(to_zero);
      if constexpr (is_host_floating<From> && is_host_floating<To>) {
        auto* out = static_cast<To*>(destination);
        for (std::int64_t i = 0; i < count; ++i) out[i] = convert_one<To>(load<From>(source, i));
      }
    });
  });
}

std::optional<std::int64_t> find_non_finite(const void* source, DType dtype, std::int64_t count) {
  return dispatch(dtype, [&](auto zero) -> std::optional<std::int64_t> {
    using T = decltype(zero);
    if constexpr (is_host_floating<T>)
      for (std::int64_t i = 0; i < count; ++i)
        if (!std::isfinite(convert_one<double>(load<T>(source, i)))) return i;
    return std::nullopt;
  });
}

}  // namespace tilewright::weights
