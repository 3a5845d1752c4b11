#include "graph/functions/ordering/quantiles.h"

#include <algorithm>
#include <vector>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// A place between two elements becomes that of one, or stays.
Tensor as_interpolated(QuantileInterpolation way, const Tensor& place) {
  switch (way) {
    case QuantileInterpolation::linear: return place;
    case QuantileInterpolation::lower: return floor(place);
    case QuantileInterpolation::higher: return ceil(place);
    case QuantileInterpolation::nearest: return round(place);
    case QuantileInterpolation::midpoint: {
      const Tensor below = floor(place);
      return where(place == below, place, below + 0.5);
    }
  }
  __builtin_unreachable();
}

// The probabilities as a tensor, which has no axes where there is one.
Tensor probabilities(const TensorOperand& q, DType dtype, const char* name) {
  if (!q.is_number) {
    require(q.tensor.defined() && q.tensor.rank() <= 1, "[", name, "] q is ",
            q.tensor.defined() ? concat("[", q.tensor.shape(), "]") : "undefined", " (at ",
            At{q.where}, "); at most one axis is wanted");
    return q.tensor.to(dtype);
  }
  const double number = q.number.as_double();
  require(number >= 0 && number <= 1, "[", name, "] q is ", number, " (at ", At{q.where},
          "); it must be between 0 and 1");
  return full({}, number, dtype);
}

// [.., Q] of rows in order [.., size], of which NaN are the last: a row with one is NaN, or they
// are passed over.
Tensor between(const Tensor& sorted, const Tensor& q, QuantileInterpolation way,
               bool passes_over_nan) {
  const std::int64_t size = sorted.size(-1);
  const Tensor end = sorted.slice(-1, size - 1, size);
  // The number of the last element that counts, [.., 1].
  Tensor last = full(end.shape(), size - 1, DType::i64);
  if (passes_over_nan) last = sum(logical_not(isnan(sorted)).to(DType::i64), {-1}, true) - 1;
  const Tensor greatest = clamp_min(last, 0);
  const Tensor place = as_interpolated(way, q.reshape({q.count()}) * greatest.to(q.dtype()));
  const Tensor below = floor(place), part = place - below;
  const Tensor low = gather(sorted, -1, below.to(DType::i64)),
               high = gather(sorted, -1, minimum(below.to(DType::i64) + 1, greatest));
  const Tensor result = where(part == 0.0, low, lerp(low, high, part));
  return where(passes_over_nan ? last < 0 : isnan(end), end, result);
}

Tensor quantile_of(const TensorOperand& operand, const TensorOperand& probability,
                   const QuantileOptions& options, bool passes_over_nan, const char* name) {
  const source_location w = operand.where;
  Tensor x = graph::tensor_of(operand, name);
  require(is_floating(x.dtype()), "[", name, "] x is ", x.dtype(), " (at ", At{w},
          "); it must be floating");
  const Tensor q = probabilities(probability, x.dtype(), name);
  const int rank = x.rank();
  if (!options.axis) x = x.reshape({x.count()});
  if (x.rank() == 0) x = x.reshape({1});
  const int axis = graph::axis_of(options.axis.value_or(0), x.shape(), name, w);
  require(x.size(axis) > 0, "[", name, "] the axis has no elements (at ", At{w},
          "); there must be one at least");
  std::vector<int> order, back = {x.rank() - 1};
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  for (int i = 0; i + 1 < x.rank(); ++i) back.push_back(i);
  const Tensor sorted = sort(x.permute(order), -1).first;
  const Tensor result = between(sorted, q, options.interpolation, passes_over_nan).permute(back);
  const bool has_axis = q.rank() > 0;
  if (!options.keep_dims) return has_axis ? result : result.select(0, 0);
  Shape sizes;
  if (has_axis) sizes.push_back(q.count());
  for (int i = 0; i < rank; ++i) sizes.push_back(!options.axis || i == axis ? 1 : x.shape()[i]);
  return result.reshape(sizes);
}

}  // namespace

Tensor quantile(const TensorOperand& x, const TensorOperand& q, const QuantileOptions& options) {
  if (const graph::AutocastCall cast("quantile", x.where); cast.is_listed())
    return quantile(cast(x), cast(q), options);
  return quantile_of(x, q, options, false, "quantile");
}
Tensor nanquantile(const TensorOperand& x, const TensorOperand& q, const QuantileOptions& options) {
  if (const graph::AutocastCall cast("nanquantile", x.where); cast.is_listed())
    return nanquantile(cast(x), cast(q), options);
  return quantile_of(x, q, options, true, "nanquantile");
}

}  // namespace tilewright
