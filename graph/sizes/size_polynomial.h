// A number that follows from a size: a polynomial that samples determine, and that at least one
// more of them confirms.
//
// Sizes of a graph and of what is made of it are mostly products of sizes of its inputs, and sums
// of such: so are counts of elements, strides and offsets. Coefficients are exact fractions, since
// half of a size is a size too where all of them are even.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::graph {

// Numerator and denominator, which is positive, without common factors.
struct Fraction {
  __extension__ using Wide = __int128;
  Wide above = 0, below = 1;
};

class SizePolynomial {
 public:
  // The highest power of a size: of elements of an attention over an image of two such axes.
  static constexpr std::size_t most_degree = 4;

  // Nothing where no polynomial of at most that degree, and of at least two less than there are
  // samples, goes through all of them, or where its numbers are too large. Sizes ascend.
  static std::optional<SizePolynomial> through(std::span<const std::int64_t> sizes,
                                               std::span<const std::int64_t> values);
  // Nothing where that is no integer of 63 bits.
  std::optional<std::int64_t> at(std::int64_t size) const;

 private:
  std::vector<std::int64_t> sizes_;     // x0, x1, .. of
  std::vector<Fraction> coefficients_;  // c0 + c1 (x - x0) + c2 (x - x0) (x - x1) + ..
};

}  // namespace tilewright::graph
