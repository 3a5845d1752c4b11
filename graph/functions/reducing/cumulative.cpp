#include "graph/functions/reducing/cumulative.h"

#include <limits>

#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/places.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using ir::ReduceKind;
using std::source_location;

namespace {

Tensor cumulated(ReduceKind kind, const Tensor& x, int axis, DType dtype, source_location w) {
  graph::Attributes attributes;
  attributes.axes = {axis};
  attributes.reduction = kind;
  return graph::apply(graph::Op::cumulate, {x}, attributes, w, dtype);
}

// Accumulates a type without sums of its own (bool, floats of 8 bits) as another dtype.
Tensor cumulated_any(ReduceKind kind, const Tensor& given, int axis, DType dtype,
                     source_location w) {
  const Tensor x = is_boolean(dtype) || is_float8(given.dtype()) ? given.to(dtype, w) : given;
  if (is_boolean(dtype)) {
    const bool is_or = kind == ReduceKind::sum || kind == ReduceKind::max;
    return cumulated(is_or ? ReduceKind::max : ReduceKind::min, x.to(DType::u8, w), axis, DType::u8,
                     w);
  }
  if (!is_float8(dtype)) return cumulated(kind, x, axis, dtype, w);
  return cumulated(kind, x.to(dtype, w).to(DType::f32, w), axis, DType::f32, w);
}

Tensor accumulated(std::string_view name, ReduceKind kind, const TensorOperand& x, int axis,
                   std::optional<DType> asked) {
  auto w = x.where;
  const graph::AutocastCall cast(name, w);
  const Tensor given = asked ? graph::tensor_of(x, name) : cast(graph::tensor_of(x, name));
  const DType own = given.dtype(), dtype = asked.value_or(is_floating(own) ? own : DType::i64);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor all = cumulated_any(kind, graph::with_axis(t[0], w), along, dtype, w);
    return {all.to(dtype, w).reshape(t[0].shape(), w)};
  };
  return graph::apply_function(name, {&given, 1}, {along, static_cast<int>(dtype)}, function, w)[0];
}

// An element is the extremum where it equals it; the place so far is the last of these.
std::pair<Tensor, Tensor> extrema_so_far(std::string_view name, const TensorOperand& x, int axis,
                                         ReduceKind kind) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Tensor whole = graph::with_axis(t[0], w);
    const DType dtype = whole.dtype();
    const Tensor values = cumulated_any(kind, whole, along, dtype, w).to(dtype, w);
    const Formula own(whole, w);
    Formula is_extremum = own == Formula(values, w);
    if (is_floating(dtype)) is_extremum = is_extremum | is_nan(own);
    // Half the memory where numbers of 32 bits can tell places.
    const bool is_short = whole.size(along) <= std::numeric_limits<std::int32_t>::max();
    const Formula places =
        graph::places_along(whole.shape(), along, w, is_short ? DType::i32 : DType::i64);
    const Tensor last = choice(is_extremum, places, places.number(0)).tensor();
    return {values.reshape(t[0].shape(), w),
            cumulated(ReduceKind::max, last, along, DType::i64, w).reshape(t[0].shape(), w)};
  };
  std::vector<Tensor> both = graph::apply_function(name, {&given, 1}, {along}, function, w);
  return {both[0], both[1]};
}

// Log-sums take log2 n steps, in each of which an element joins one that is twice as far away as in
// the step before (Hillis and Steele, 1986).
Tensor log_sums(Tensor x, int axis, source_location w) {
  const std::int64_t size = x.size(axis);
  for (std::int64_t distance = 1; distance < size; distance *= 2) {
    const Tensor first = x.slice(axis, 0, distance, 1, w),
                 here = x.slice(axis, distance, size, 1, w),
                 before = x.slice(axis, 0, size - distance, 1, w);
    x = cat({first, logaddexp({here, w}, {before, w})}, axis, w);
  }
  return x;
}

}  // namespace

Tensor cumsum(const TensorOperand& x, int axis, std::optional<DType> dtype) {
  return accumulated("cumsum", ReduceKind::sum, x, axis, dtype);
}
Tensor cumprod(const TensorOperand& x, int axis, std::optional<DType> dtype) {
  return accumulated("cumprod", ReduceKind::prod, x, axis, dtype);
}
Tensor logcumsumexp(const TensorOperand& x, int axis) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "logcumsumexp");
  const DType dtype = given.dtype();
  require(is_floating(dtype), "[logcumsumexp] the operand is ", dtype, " (at ", At{w},
          "); it must be floating");
  const int along = graph::axis_or_only(axis, given.shape(), "logcumsumexp", w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Tensor wide = graph::with_axis(t[0], w).to(accumulator(dtype), w);
    return {log_sums(wide, along, w).to(dtype, w).reshape(t[0].shape(), w)};
  };
  return graph::apply_function("logcumsumexp", {&given, 1}, {along}, function, w)[0];
}
std::pair<Tensor, Tensor> cummax(const TensorOperand& x, int axis) {
  return extrema_so_far("cummax", x, axis, ReduceKind::max);
}
std::pair<Tensor, Tensor> cummin(const TensorOperand& x, int axis) {
  return extrema_so_far("cummin", x, axis, ReduceKind::min);
}

}  // namespace tilewright
