#include "graph/sizes/size_polynomial.h"

#include <algorithm>
#include <limits>

namespace tilewright::graph {
namespace {

using Wide = Fraction::Wide;

Wide common_divisor(Wide a, Wide b) {
  if (a < 0) a = -a;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Fraction reduced(Wide above, Wide below) {
  const Wide divisor = common_divisor(above, below);
  return {above / divisor, below / divisor};
}

// Nothing where 127 bits do not hold it.
std::optional<Wide> product(Wide a, Wide b) {
  Wide result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<Fraction> times(const Fraction& a, Wide b) {
  const std::optional<Wide> above = product(a.above, b);
  return above ? std::optional(reduced(*above, a.below)) : std::nullopt;
}
std::optional<Fraction> divided(const Fraction& a, Wide positive) {
  const std::optional<Wide> below = product(a.below, positive);
  return below ? std::optional(reduced(a.above, *below)) : std::nullopt;
}
std::optional<Fraction> sum(const Fraction& a, const Fraction& b) {
  const std::optional<Wide> x = product(a.above, b.below), y = product(b.above, a.below),
                            below = product(a.below, b.below);
  Wide above = 0;
  if (!x || !y || !below || __builtin_add_overflow(*x, *y, &above)) return std::nullopt;
  return reduced(above, *below);
}

}  // namespace

// Newton's divided differences.
std::optional<SizePolynomial> SizePolynomial::through(std::span<const std::int64_t> sizes,
                                                      std::span<const std::int64_t> values) {
  if (sizes.size() < 2) return std::nullopt;
  const std::size_t degree = std::min(most_degree, sizes.size() - 2);
  std::vector<Fraction> differences;
  for (std::int64_t value : values) differences.push_back({value, 1});
  SizePolynomial result;
  for (std::size_t order = 0; order < sizes.size(); ++order) {
    if (order <= degree) {
      result.sizes_.push_back(sizes[order]);
      result.coefficients_.push_back(differences[0]);
    } else if (std::ranges::any_of(differences, [](const Fraction& d) { return d.above != 0; })) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i + 1 < differences.size(); ++i) {
      const Fraction negated = {-differences[i].above, differences[i].below};
      const std::optional<Fraction> difference = sum(differences[i + 1], negated);
      if (!difference) return std::nullopt;
      const std::optional<Fraction> next =
          divided(*difference, Wide(sizes[i + order + 1]) - sizes[i]);
      if (!next) return std::nullopt;
      differences[i] = *next;
    }
    differences.pop_back();
  }
  while (result.coefficients_.size() > 1 && result.coefficients_.back().above == 0) {
    result.coefficients_.pop_back();
    result.sizes_.pop_back();
  }
  return result;
}

// From the last coefficient to the first, by Horner's rule.
std::optional<std::int64_t> SizePolynomial::at(std::int64_t size) const {
  Fraction value = coefficients_.back();
  for (std::size_t i = coefficients_.size() - 1; i-- > 0;) {
    const std::optional<Fraction> above = times(value, Wide(size) - sizes_[i]);
    const std::optional<Fraction> next = above ? sum(*above, coefficients_[i]) : std::nullopt;
    if (!next) return std::nullopt;
    value = *next;
  }
  const bool fits = value.below == 1 && value.above <= std::numeric_limits<std::int64_t>::max() &&
                    value.above >= std::numeric_limits<std::int64_t>::min();
  return fits ? std::optional(static_cast<std::int64_t>(value.above)) : std::nullopt;
}

}  // namespace tilewright::graph
