#include "autotune/measure/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright::autotune {

double rounding_of(DType dtype) {
  if (!is_floating(dtype)) return 0;
  if (bit_width(dtype) >= 32) return 1e-4;
  return bit_width(dtype) == 16 ? 2e-2 : 0.2;
}

std::string difference(DType dtype, std::span<const std::byte> expected,
                       std::span<const std::byte> actual, double tolerance) {
  if (expected.size() != actual.size())
    return concat("there are ", actual.size(), " bytes, by the default ", expected.size());
  return dispatch(dtype, [&](auto element) -> std::string {
    using Element = decltype(element);
    auto value = [](std::span<const std::byte> bytes, std::size_t i) {
      Element stored;
      std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
      if constexpr (std::is_arithmetic_v<Element>)
        return static_cast<double>(stored);
      else
        return static_cast<double>(static_cast<float>(stored));
    };
    std::size_t count = expected.size() / sizeof(Element);
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (double one = std::abs(value(expected, i)); std::isfinite(one))
        largest = std::max(largest, one);
    for (std::size_t i = 0; i < count; ++i) {
      double wanted = value(expected, i), got = value(actual, i);
      bool same = wanted == got || (std::isnan(wanted) && std::isnan(got)) ||
                  std::abs(wanted - got) <= tolerance * largest;
      if (!same) return concat("element ", i, " is ", got, ", by the default ", wanted);
    }
    return {};
  });
}

}  // namespace tilewright::autotune
