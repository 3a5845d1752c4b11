// Quantiles: what is between two elements in order.
#include <algorithm>
#include <string>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace quantile_rows {
namespace {

// A place between two elements becomes that of one, or stays.
Tensor as_interpolated(const Call& call, const Tensor& place) {
  const std::string way = call.text("interpolation", "linear");
  if (way == "lower") return floor(place);
  if (way == "higher") return ceil(place);
  if (way == "nearest") return round(place);
  Tensor below = floor(place);
  if (way == "midpoint") return where(place == below, place, below + 0.5);
  if (way != "linear")
    call.refuse("interpolation", "is none of linear, lower, higher, nearest and midpoint");
  return place;
}

// The probabilities as a tensor, which has no axes where there is one.
Tensor probabilities(const Call& call, DType dtype) {
  if (call.operand("q").is_number) {
    const double q = call.number("q");
    if (!(q >= 0 && q <= 1)) call.refuse("q", concat("is ", q, "; it must be between 0 and 1"));
    return full({}, q, dtype);
  }
  Tensor q = call.tensor("q");
  if (q.rank() > 1) call.refuse("q", concat("is [", q.shape(), "]; at most one axis is wanted"));
  return q.to(dtype);
}

// [Q.., others..], or with the reduced axis as 1. NaN are last in order: a row with one is NaN, or
// they are passed over.
template <bool passes_over_nan>
Tensor quantile(const Call& call) {
  Tensor x = call.tensor("self");
  Tensor q = probabilities(call, x.dtype());
  const bool is_of_all = !call.has("dim");
  const int rank = x.rank();
  int axis = call.axis("dim", 0);
  if (is_of_all) x = x.reshape({x.count()});
  axis = normalise_axis(axis, std::max(x.rank(), 1)).value_or(-1);
  if (axis < 0) call.refuse("dim", concat("is no axis of [", x.shape(), "]"));
  if (x.rank() == 0) x = x.reshape({1});
  std::vector<int> order, back = {x.rank() - 1};
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  for (int i = 0; i + 1 < x.rank(); ++i) back.push_back(i);
  Tensor sorted = sort(x.permute(order), -1).first;
  const std::int64_t size = sorted.size(-1);
  require(size > 0, "[exported] a quantile of no elements");
  Tensor end = sorted.slice(-1, size - 1, size);
  // The number of the last element that counts, [.., 1]; the places, [.., Q].
  Tensor last = full(end.shape(), size - 1, i64);
  if (passes_over_nan) last = sum(logical_not(isnan(sorted)).to(i64), {-1}, true) - 1;
  Tensor greatest = clamp_min(last, 0);
  Tensor place = as_interpolated(call, q.reshape({q.count()}) * greatest.to(q.dtype()));
  Tensor below = floor(place), part = place - below;
  Tensor low = gather(sorted, -1, below.to(i64)),
         high = gather(sorted, -1, minimum(below.to(i64) + 1, greatest));
  Tensor result = where(part == 0.0, low, lerp(low, high, part));
  result = where(passes_over_nan ? last < 0 : isnan(end), end, result).permute(back);
  const bool has_axis = q.rank() > 0;
  if (!call.flag("keepdim", false)) return has_axis ? result : result.select(0, 0);
  Shape sizes;
  if (has_axis) sizes.push_back(q.count());
  for (int i = 0; i < rank; ++i) sizes.push_back(is_of_all || i == axis ? 1 : x.shape()[i]);
  return result.reshape(sizes);
}

constexpr Operator rows[] = {
    {"aten.quantile.scalar", by<quantile<false>>},
    {"aten.quantile.default", by<quantile<false>>},
    {"aten.nanquantile.scalar", by<quantile<true>>},
    {"aten.nanquantile.default", by<quantile<true>>},
};

}  // namespace
}  // namespace quantile_rows

std::span<const Operator> quantile_operators() { return quantile_rows::rows; }

}  // namespace tilewright::exported
