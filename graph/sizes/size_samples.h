// Samples of values that are made of graphs which differ in sizes alone: the numbers of a graph,
// and those of its value.
//
// Samples that differ along one size are a line, as calls of one function with texts of many
// lengths are. A new size of the line is interpolated where both its neighbours in it are samples
// of the same form, so that what was decided by the size, which mostly is whether it lies above a
// bound, was decided alike on either side; and where all numbers are polynomials of the size
// (size_polynomial.h), those of the graph at hand too. Nothing is interpolated outside of the
// samples, or beside one that became something else, or for a size that is no whole number of steps
// away from samples that lie in steps, as powers of two do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/sizes/size_polynomial.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

struct SizeSample {
  std::vector<std::int64_t> given, made;
  Hash form;  // of what was made, apart from numbers
};

// Not thread safe.
class SizeSamples {
 public:
  // So many samples of a line determine it, if they confirm it.
  static constexpr std::size_t least = 4;
  static constexpr std::size_t most = 24;  // that are kept, the latest

  void add(SizeSample sample);  // takes the place of one that was given the same
  struct Interpolated {
    Hash form;
    std::vector<std::int64_t> made;
  };
  // The value of a graph of these numbers; nothing where samples do not say it.
  std::optional<Interpolated> interpolate(std::span<const std::int64_t> given);
  std::size_t size() const { return samples_.size(); }

 private:
  // The numbers of a line by size.
  struct Line {
    std::vector<std::uint64_t> serials;  // of its samples, by size
    std::size_t column = 0;              // of the numbers given, which is the size
    std::vector<SizePolynomial> polynomials;
    // A constant, or the polynomial of that number.
    struct Number {
      std::int64_t constant = 0;
      std::int32_t polynomial = -1;
    };
    std::vector<Number> given, made;
    bool is_known = false;  // false: some number is none
  };
  struct Kept {
    std::uint64_t serial;
    SizeSample sample;
  };
  std::vector<const Kept*> nearest(std::span<const std::int64_t> given) const;
  // The samples around the size of the line through `base` and what is given; empty: it has no
  // neighbours that are alike, or too few.
  std::vector<const Kept*> around(const Kept& base, std::span<const std::int64_t> given,
                                  std::size_t& column) const;
  const Line& line_of(const std::vector<const Kept*>& samples, std::size_t column);
  static std::optional<std::vector<std::int64_t>> values(
      const std::vector<Line::Number>& numbers,
      std::span<const std::optional<std::int64_t>> polynomials);

  std::vector<Kept> samples_;
  std::vector<Line> lines_;  // of the latest samples
  std::uint64_t added_ = 0;
};

}  // namespace tilewright::graph
