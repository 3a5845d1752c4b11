// The sizes that an axis may have, as they are declared by marks (size_marks.h).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// Sizes from min to max, both included, that are multiples of `multiple_of`; and the sizes that
// calls are padded to, ascending, of which the greatest is the greatest of all then.
struct SizeRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t multiple_of = 1;
  std::vector<std::int64_t> buckets = {};
  bool operator==(const SizeRange&) const = default;
};

bool holds(const SizeRange& sizes, std::int64_t size);
// The size that a call is padded to: the least bucket that is not below it; the size, without one.
std::int64_t bucket_of(const SizeRange& sizes, std::int64_t size);
std::string text_of(const SizeRange& sizes);  // "sizes from 1 to 4096 that are multiples of 8"

// The marked axes of a tensor, with the sizes that each may have; none: the axis is static.
struct SizeMarks {
  std::map<int, std::optional<SizeRange>> axes;
  bool operator==(const SizeMarks&) const = default;
};

}  // namespace tilewright
