#include "graph/compile/sizes/size_range.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright {

bool holds(const SizeRange& sizes, std::int64_t size) {
  return size >= sizes.min && size <= sizes.max && size % sizes.multiple_of == 0;
}

std::int64_t bucket_of(const SizeRange& sizes, std::int64_t size) {
  auto found = std::ranges::lower_bound(sizes.buckets, size);
  return found == sizes.buckets.end() ? size : *found;
}

std::string text_of(const SizeRange& sizes) {
  const SizeRange any;
  const bool is_bounded = sizes.max < any.max;
  std::string text = is_bounded            ? concat("sizes from ", sizes.min, " to ", sizes.max)
                     : sizes.min > any.min ? concat("sizes from ", sizes.min, " on")
                                           : std::string("any size");
  if (sizes.multiple_of > 1)
    text += concat(text == "any size" ? " that is a multiple of " : " that are multiples of ",
                   sizes.multiple_of);
  for (std::size_t i = 0; i < sizes.buckets.size(); ++i)
    text += concat(i == 0                          ? ", padded to "
                   : i + 1 == sizes.buckets.size() ? " or "
                                                   : ", ",
                   sizes.buckets[i]);
  return text;
}

}  // namespace tilewright
