// Sizes that have names, so that one random graph can be had at several sizes.
//
// In the outline of a graph a name is a number so large that no other size comes near it: n is
// 4099, m is its cube. Shape rules compute sums and products of sizes. The result is then a
// polynomial of names, whose coefficients are the digits to the base of n, between -2049 and 2049:
// 2 * 4099 + 3 is 2 n + 3. So rules and generators work on names without knowing of them, and `at`
// reads the polynomial and puts in what the names stand for. Sizes without names stay as they are.
#pragma once

#include <cstdint>

#include "graph/ir/attributes.h"
#include "runtime/base/shape.h"

namespace tilewright::graph {

struct NamedSizes {
  std::int64_t n = 0, m = 0;
  bool operator==(const NamedSizes&) const = default;
};

constexpr std::int64_t size_n = 4099, size_m = size_n * size_n * size_n;

inline bool has_name(std::int64_t size) { return size > size_n / 2; }
// Raises `Error` for polynomials with other terms than 1, n, n n, m and n m, and below 0.
std::int64_t at(std::int64_t size, const NamedSizes& sizes);
Shape at(const Shape& shape, const NamedSizes& sizes);
Attributes at(const Attributes& attributes, const NamedSizes& sizes);
// True if `at` can read the number of elements, and 8 bytes of each fit 63 bits.
bool can_count(const Shape& shape);

}  // namespace tilewright::graph
