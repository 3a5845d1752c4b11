#include "graph/functions/shaping/repeating.h"

#include <algorithm>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

Tensor repeat(const Tensor& x, const Shape& times, source_location w) {
  require(times.rank() >= x.rank(), "[repeat] ", x.shape(), " is repeated ", times, " times (at ",
          At{w}, "); there must be a number for each axis at least");
  require(std::ranges::all_of(times, [](std::int64_t n) { return n >= 0; }), "[repeat] ", times,
          " times (at ", At{w}, "); no number may be negative");
  Shape sizes = x.shape(), apart, spread, whole;
  while (sizes.rank() < times.rank()) sizes.insert(sizes.begin(), 1);
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    apart.insert(apart.end(), {1, sizes[axis]});
    spread.insert(spread.end(), {times[axis], sizes[axis]});
    std::int64_t size = 0;
    require(!__builtin_mul_overflow(times[axis], sizes[axis], &size), "[repeat] an axis of ",
            sizes[axis], " ", times[axis], " times (at ", At{w}, "); sizes must be below 2^63");
    whole.push_back(size);
  }
  return x.reshape(apart, w).expand(spread, w).reshape(whole, w);
}

Tensor tile(const Tensor& x, const Shape& times, source_location w) {
  Shape all = times;
  while (all.rank() < x.rank()) all.insert(all.begin(), 1);
  return repeat(x, all, w);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t times, std::optional<int> axis,
                         source_location w) {
  require(times >= 0 && times <= INT32_MAX, "[repeat_interleave] ", times, " times (at ", At{w},
          "); a number in [0, 2^31) is wanted");
  const Tensor whole = axis ? x : x.reshape({x.count()}, w);
  const int along = graph::axis_of(axis.value_or(0), whole.shape(), "repeat_interleave", w);
  Shape spread = whole.shape(), sizes = whole.shape();
  spread.insert(spread.begin() + along + 1, times);
  sizes[along] *= times;
  return whole.unsqueeze(along + 1, w).expand(spread, w).reshape(sizes, w);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& times, std::optional<int> axis,
                         source_location w) {
  const graph::UserCall call("repeat_interleave", w);
  const Tensor whole = axis ? x : x.reshape({x.count()}, w);
  const int along = graph::axis_of(axis.value_or(0), whole.shape(), "repeat_interleave", w);
  const std::int64_t size = whole.size(along);
  require(is_integer(times.dtype()) && (times.shape() == Shape{size} || times.count() == 1),
          "[repeat_interleave] ", times.dtype(), " ", times.shape(), " times (at ", At{w},
          "); integers [", size, "] are wanted, one for each place");
  const Tensor each = times.to(DType::i64, w).reshape({-1}, w).expand({size}, w);
  std::vector<std::int64_t> places;
  const std::vector<std::int64_t> counts = each.to_vector<std::int64_t>(w);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    require(count >= 0, "[repeat_interleave] ", count, " times at place ", i, " (at ", At{w},
            "); no number may be negative");
    places.insert(places.end(), static_cast<std::size_t>(count), i);
  }
  return index_select({whole, w}, along, graph::constant_of(places, {std::ssize(places)}));
}

}  // namespace tilewright
