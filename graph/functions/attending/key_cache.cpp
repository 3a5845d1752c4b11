#include "graph/functions/attending/key_cache.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

Tensor rows_in_cache(const Tensor& past, const TensorOperand& x, const Tensor& from,
                     std::int64_t capacity) {
  return graph::of_user_call("rows_in_cache", x.where, [&] {
    const Tensor& rows = graph::tensor_of(x, "rows_in_cache");
    const bool fit =
        rows.rank() == 4 && rows.size(2) > 0 && from.shape() == Shape({rows.size(0), 1});
    const std::int64_t steps = fit ? rows.size(2) : 0, former = past.defined() ? past.size(2) : 0;
    require(fit && former <= capacity, "[rows_in_cache] rows ", rows.shape(), " from ",
            from.shape(), " on in a cache of ", capacity, " with ", former, " (at ", At{x.where},
            "); [B, H, T, D], [B, 1] and no more rows than the cache has are wanted");
    const Tensor at = arange(0, capacity).reshape({1, capacity}) - from;  // among the new ones
    const Shape beside = {rows.size(0), 1, capacity, 1};
    const Tensor is_new = logical_and(at >= 0, at < steps).reshape(beside),
                 is_old = (at < 0).reshape(beside),
                 places = clamp(at, 0, steps - 1).reshape(beside);
    Shape sizes = rows.shape(), others = sizes;
    sizes[2] = capacity;
    others[2] = capacity - former;
    const Tensor fresh = gather(rows, 2, places.expand(sizes)), rest = zeros(others, rows.dtype()),
                 old = former == 0          ? rest
                       : former == capacity ? past
                                            : cat({past, rest}, 2);
    return where(is_new, fresh, where(is_old, old, 0).to(rows.dtype()));
  });
}

Tensor tensor_scatter(const TensorOperand& operand, const Tensor& update, const Tensor& places,
                      int axis, bool wraps) {
  return graph::of_user_call("tensor_scatter", operand.where, [&] {
    const Tensor& cache = graph::tensor_of(operand, "tensor_scatter");
    Shape wanted = cache.shape();
    if (axis > 0 && axis < cache.rank() && update.rank() == cache.rank())
      wanted[axis] = update.size(axis);
    require(axis > 0 && axis < cache.rank() && update.shape() == wanted &&
                places.shape() == Shape({cache.size(0)}),
            "[tensor_scatter] an update ", update.shape(), " along axis ", axis, " of a cache ",
            cache.shape(), " at ", places.shape(), " (at ", At{operand.where},
            "); the same other sizes and a place for each of the batch are wanted");
    const std::int64_t capacity = cache.size(axis), steps = update.size(axis);
    if (steps == 0) return cache;
    Shape along(static_cast<std::size_t>(cache.rank()), 1), of_batch = along;
    along[axis] = capacity;
    of_batch[0] = cache.size(0);
    Tensor at = arange(0, capacity).reshape(along) - places.to(i64).reshape(of_batch);
    if (wraps) at = remainder(at, capacity);
    const Tensor is_new = logical_and(at >= 0, at < steps);
    const Tensor fresh =
        steps == 1 ? update
                   : gather(update, axis, clamp(at, 0, steps - 1).to(i64).expand(cache.shape()));
    return where(is_new, fresh, cache).to(cache.dtype());
  });
}

}  // namespace tilewright
