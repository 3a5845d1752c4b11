#include "graph/sizes/size_samples.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilewright::graph {
namespace {

constexpr std::size_t most_bases = 3;   // samples that a line is looked for through
constexpr std::size_t most_points = 8;  // of a line, that its polynomials go through
constexpr std::size_t most_lines = 8;   // that are kept

// Series of numbers, one for each sample of a line.
class Series {
 public:
  explicit Series(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  // The polynomial of a series that is not constant; nothing where there is none.
  std::optional<std::int32_t> polynomial_of(std::span<const std::int64_t> values) {
    auto [known, is_new] =
        known_.try_emplace(Hasher().add(values).finish(), std::ssize(polynomials));
    if (!is_new) return static_cast<std::int32_t>(known->second);
    std::optional<SizePolynomial> polynomial = SizePolynomial::through(sizes_, values);
    if (!polynomial) return std::nullopt;
    polynomials.push_back(*std::move(polynomial));
    return static_cast<std::int32_t>(known->second);
  }
  std::vector<SizePolynomial> polynomials;

 private:
  std::vector<std::int64_t> sizes_;
  std::unordered_map<Hash, std::ptrdiff_t> known_;
};

// At most so many, evenly, with both ends.
template <typename T>
std::vector<T> thinned(const std::vector<T>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> result;
  for (std::size_t i = 0; i < most; ++i) result.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return result;
}

}  // namespace

void SizeSamples::add(SizeSample sample) {
  auto drop = [&](auto kept) {
    std::erase_if(lines_, [&](const Line& line) {
      return std::ranges::find(line.serials, kept->serial) != line.serials.end();
    });
    samples_.erase(kept);
  };
  const auto same = std::ranges::find_if(
      samples_, [&](const Kept& kept) { return kept.sample.given == sample.given; });
  if (same != samples_.end())
    drop(same);
  else if (samples_.size() == most)
    drop(samples_.begin());
  samples_.push_back({++added_, std::move(sample)});
}

// Those that differ from the graph in the fewest numbers.
std::vector<const SizeSamples::Kept*> SizeSamples::nearest(
    std::span<const std::int64_t> given) const {
  std::vector<std::pair<std::ptrdiff_t, const Kept*>> bases;
  for (const Kept& kept : samples_) {
    std::ptrdiff_t differences = 0;
    for (std::size_t i = 0; i < given.size(); ++i)
      differences += kept.sample.given[i] != given[i] ? 1 : 0;
    bases.emplace_back(differences, &kept);
  }
  const auto end = bases.begin() + static_cast<std::ptrdiff_t>(std::min(bases.size(), most_bases));
  std::ranges::partial_sort(bases, end);
  std::vector<const Kept*> result;
  for (auto base = bases.begin(); base != end; ++base) result.push_back(base->second);
  return result;
}

std::vector<const SizeSamples::Kept*> SizeSamples::around(const Kept& base,
                                                          std::span<const std::int64_t> given,
                                                          std::size_t& column) const {
  std::vector<std::size_t> equal;
  column = given.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    if (base.sample.given[i] == given[i])
      equal.push_back(i);
    else
      column = std::min(column, i);
  auto size_of = [&](const Kept* kept) { return kept->sample.given[column]; };
  std::vector<const Kept*> line;
  for (const Kept& kept : samples_) {
    const std::vector<std::int64_t>& own = kept.sample.given;
    if (std::ranges::all_of(equal, [&](std::size_t i) { return own[i] == given[i]; }))
      line.push_back(&kept);
  }
  std::ranges::sort(line, {}, size_of);
  const auto above = std::ranges::upper_bound(line, given[column], {}, size_of);
  const bool is_twice = std::ranges::adjacent_find(line, {}, size_of) != line.end();
  if (is_twice || above == line.begin() || above == line.end()) return {};
  auto begin = above - 1, end = above + 1;
  const Hash form = (*begin)->sample.form;
  if ((*above)->sample.form != form || size_of(*begin) == given[column]) return {};
  while (begin != line.begin() && (*(begin - 1))->sample.form == form) --begin;
  while (end != line.end() && (*end)->sample.form == form) ++end;
  if (end - begin < static_cast<std::ptrdiff_t>(least)) return {};
  std::vector<const Kept*> points = thinned(std::vector<const Kept*>(begin, end), most_points);
  // Sizes that are all multiples of 64 say nothing of one that is not: what is rounded up to whole
  // blocks, and what is decided by divisibility, look like the size itself there.
  std::int64_t apart = 0;
  for (const Kept* point : points) apart = std::gcd(apart, size_of(point) - size_of(points[0]));
  if ((given[column] - size_of(points[0])) % apart != 0) return {};
  return points;
}

const SizeSamples::Line& SizeSamples::line_of(const std::vector<const Kept*>& samples,
                                              std::size_t column) {
  Line line{.column = column};
  std::vector<std::int64_t> sizes;
  for (const Kept* kept : samples) {
    line.serials.push_back(kept->serial);
    sizes.push_back(kept->sample.given[column]);
  }
  const auto known = std::ranges::find_if(lines_, [&](const Line& other) {
    return other.column == column && other.serials == line.serials;
  });
  if (known != lines_.end()) return *known;
  Series series(std::move(sizes));
  std::vector<std::int64_t> values(samples.size());
  auto add = [&](std::vector<std::int64_t> SizeSample::*list, std::vector<Line::Number>& numbers) {
    for (std::size_t i = 0; i < (samples[0]->sample.*list).size(); ++i) {
      for (std::size_t k = 0; k < samples.size(); ++k) values[k] = (samples[k]->sample.*list)[i];
      numbers.push_back({.constant = values[0]});
      if (std::ranges::count(values, values[0]) == std::ssize(values)) continue;
      const std::optional<std::int32_t> polynomial = series.polynomial_of(values);
      if (!polynomial) return false;
      numbers.back().polynomial = *polynomial;
    }
    return true;
  };
  line.is_known = add(&SizeSample::given, line.given) && add(&SizeSample::made, line.made);
  line.polynomials = std::move(series.polynomials);
  if (lines_.size() == most_lines) lines_.erase(lines_.begin());
  return lines_.emplace_back(std::move(line));
}

std::optional<std::vector<std::int64_t>> SizeSamples::values(
    const std::vector<Line::Number>& numbers,
    std::span<const std::optional<std::int64_t>> polynomials) {
  std::vector<std::int64_t> result;
  result.reserve(numbers.size());
  for (const Line::Number& number : numbers) {
    if (number.polynomial < 0) {
      result.push_back(number.constant);
      continue;
    }
    const std::optional<std::int64_t>& value =
        polynomials[static_cast<std::size_t>(number.polynomial)];
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

std::optional<SizeSamples::Interpolated> SizeSamples::interpolate(
    std::span<const std::int64_t> given) {
  for (const Kept& kept : samples_)
    if (std::ranges::equal(kept.sample.given, given))
      return Interpolated{kept.sample.form, kept.sample.made};
  for (const Kept* base : nearest(given)) {
    std::size_t column = 0;
    const std::vector<const Kept*> samples = around(*base, given, column);
    if (samples.empty()) continue;
    const Line& line = line_of(samples, column);
    if (!line.is_known) continue;
    std::vector<std::optional<std::int64_t>> polynomials;
    for (const SizePolynomial& polynomial : line.polynomials)
      polynomials.push_back(polynomial.at(given[column]));
    const auto expected = values(line.given, polynomials);
    if (!expected || !std::ranges::equal(*expected, given)) continue;
    if (auto made = values(line.made, polynomials))
      return Interpolated{samples[0]->sample.form, *std::move(made)};
  }
  return std::nullopt;
}

}  // namespace tilewright::graph
