#include "tests/property/named_sizes.h"

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The value of a polynomial whose coefficients are digits to the base of n.
std::int64_t value_at(std::int64_t polynomial, const NamedSizes& sizes) {
  std::int64_t rest = polynomial, value = 0;
  for (std::int64_t term :
       {std::int64_t{1}, sizes.n, sizes.n * sizes.n, sizes.m, sizes.n * sizes.m}) {
    std::int64_t digit = rest % size_n;
    if (digit > size_n / 2) digit -= size_n;
    if (digit < -(size_n / 2)) digit += size_n;
    value += digit * term;
    rest = (rest - digit) / size_n;
  }
  require(rest == 0, "[named sizes] ", polynomial, " has more than n n and n m in it");
  return value;
}

}  // namespace

std::int64_t at(std::int64_t size, const NamedSizes& sizes) {
  std::int64_t value = value_at(size, sizes);
  require(value >= 0 || size < 0, "[named sizes] a size is ", value, ", of n ", sizes.n, " and m ",
          sizes.m);
  return value;
}

Shape at(const Shape& shape, const NamedSizes& sizes) {
  Shape result = shape;
  for (std::int64_t& size : result) size = at(size, sizes);
  return result;
}

Attributes at(const Attributes& attributes, const NamedSizes& sizes) {
  Attributes result = attributes;
  result.sizes = at(attributes.sizes, sizes);
  result.start = at(attributes.start, sizes);
  result.end = at(attributes.end, sizes);
  return result;
}

bool can_count(const Shape& shape) {
  std::int64_t bytes = 8;
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return false;
  return true;
}

}  // namespace tilewright::graph
