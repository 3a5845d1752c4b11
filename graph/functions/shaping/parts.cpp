#include "graph/functions/shaping/parts.h"

#include <algorithm>

#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::axis_of;
using std::source_location;
using Tensors = std::vector<Tensor>;

Tensors split(const Tensor& x, std::int64_t size, int axis, source_location w) {
  const int along = axis_of(axis, x.shape(), "split", w);
  require(size > 0, "[split] parts of ", size, " elements (at ", At{w},
          "); a number above 0 is wanted");
  Tensors parts;
  std::int64_t at = 0;
  do {
    const std::int64_t end = std::min(x.size(along) - at, size) + at;
    parts.push_back(x.slice(along, at, end, 1, w));
    at = end;
  } while (at < x.size(along));
  return parts;
}
Tensors split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis,
              source_location w) {
  const int along = axis_of(axis, x.shape(), "split", w);
  std::int64_t left = x.size(along);
  Tensors parts;
  for (std::int64_t size : sizes) {
    require(size >= 0 && size <= left, "[split] sizes ", Shape(sizes), " of an axis of ",
            x.size(along), " (at ", At{w}, "); none may be negative, and they must add up to it");
    const std::int64_t at = x.size(along) - left;
    parts.push_back(x.slice(along, at, at + size, 1, w));
    left -= size;
  }
  require(left == 0, "[split] sizes ", Shape(sizes), " leave ", left, " of an axis of ",
          x.size(along), " (at ", At{w}, "); they must add up to it");
  return parts;
}

Tensors chunk(const Tensor& x, std::int64_t chunks, int axis, source_location w) {
  const int along = axis_of(axis, x.shape(), "chunk", w);
  require(chunks > 0, "[chunk] ", chunks, " parts (at ", At{w}, "); a number above 0 is wanted");
  const std::int64_t size = x.size(along) / chunks + (x.size(along) % chunks != 0);
  return split(x, std::max<std::int64_t>(size, 1), along, w);
}

Tensors tensor_split(const Tensor& x, std::int64_t sections, int axis, source_location w) {
  const int along = axis_of(axis, x.shape(), "tensor_split", w);
  require(sections > 0 && sections <= INT32_MAX, "[tensor_split] ", sections, " parts (at ", At{w},
          "); a number in [1, 2^31) is wanted");
  const std::int64_t size = x.size(along) / sections, longer = x.size(along) % sections;
  Tensors parts;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t end = at + size + (i < longer ? 1 : 0);
    parts.push_back(x.slice(along, at, end, 1, w));
    at = end;
  }
  return parts;
}
Tensors tensor_split(const Tensor& x, const std::vector<std::int64_t>& places, int axis,
                     source_location w) {
  const int along = axis_of(axis, x.shape(), "tensor_split", w);
  const std::int64_t size = x.size(along);
  Tensors parts;
  std::int64_t at = 0;
  auto end_at = [&](std::int64_t place) {
    const std::int64_t end = std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size);
    parts.push_back(x.slice(along, at, std::max(at, end), 1, w));
    at = end;
  };
  for (std::int64_t place : places) end_at(place);
  end_at(size);
  return parts;
}

Tensors unbind(const Tensor& x, int axis, source_location w) {
  const int along = axis_of(axis, x.shape(), "unbind", w);
  Tensors parts;
  for (std::int64_t i = 0; i < x.size(along); ++i) parts.push_back(x.select(along, i, w));
  return parts;
}

Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length,
              source_location w) {
  const int along = axis_of(axis, x.shape(), "narrow", w);
  const std::int64_t size = x.size(along), begin = start < 0 ? start + size : start;
  require(begin >= 0 && begin <= size && length >= 0 && length <= size - begin, "[narrow] ", length,
          " elements from ", start, " on of an axis of ", size, " (at ", At{w},
          "); they must lie inside");
  return x.slice(along, begin, begin + length, 1, w);
}

}  // namespace tilewright
