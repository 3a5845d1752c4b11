#include "graph/functions/reducing/cumulative.h"

#include <functional>

#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/places.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

// Terms that are scanned together: a value, and its place where that is wanted.
using Scanned = std::vector<Formula>;
// Of what is up to an element, and what is before that.
using Join = std::function<Scanned(const Scanned& here, const Scanned& before)>;

Scanned scanned(Scanned all, int axis, const Join& join) {
  const std::int64_t size = all[0].tensor().size(axis);
  const source_location w = all[0].where();
  auto part = [&](std::int64_t start, std::int64_t end) {
    Scanned parts;
    for (const Formula& x : all) parts.emplace_back(x.tensor().slice(axis, start, end, 1, w), w);
    return parts;
  };
  for (std::int64_t distance = 1; distance < size; distance *= 2) {
    Scanned first = part(0, distance),
            joined = join(part(distance, size), part(0, size - distance));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = {cat({first[i].tensor(), joined[i].tensor()}, axis, w), w};
  }
  return all;
}

Tensor accumulated(std::string_view name, const TensorOperand& x, int axis, DType dtype,
                   const std::function<Formula(const Formula&, const Formula&)>& join) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor wide = graph::with_axis(t[0], w).to(dtype, w).to(accumulator(dtype), w);
    auto joined = [&](const Scanned& a, const Scanned& b) { return Scanned{join(a[0], b[0])}; };
    Tensor sums = scanned({{wide, w}}, along, joined)[0].tensor();
    return {sums.to(dtype, w).reshape(t[0].shape(), w)};
  };
  return graph::apply_function(name, {&given, 1}, {along, static_cast<int>(dtype)}, function, w)[0];
}

DType dtype_of_sums(std::string_view name, const TensorOperand& x, std::optional<DType> dtype) {
  const DType own = graph::tensor_of(x, name).dtype();
  return dtype.value_or(is_floating(own) ? own : DType::i64);
}

using Before = Formula (*)(const Formula& a, const Formula& b);
std::pair<Tensor, Tensor> extrema_so_far(std::string_view name, const TensorOperand& x, int axis,
                                         Before wins) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  const int along = graph::axis_or_only(axis, given.shape(), name, w);
  auto join = [&](const Scanned& here, const Scanned& before) {
    Formula is_number = !is_nan(before[0]);
    Formula stays = is_nan(here[0]) | (is_number & wins(here[0], before[0]));
    return Scanned{choice(stays, here[0], before[0]), choice(stays, here[1], before[1])};
  };
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor values = graph::with_axis(t[0], w);
    if (is_boolean(values.dtype())) values = values.to(DType::u8, w);
    Scanned both =
        scanned({{values, w}, graph::places_along(values.shape(), along, w)}, along, join);
    return {both[0].tensor().to(t[0].dtype(), w).reshape(t[0].shape(), w),
            both[1].tensor().reshape(t[0].shape(), w)};
  };
  std::vector<Tensor> both = graph::apply_function(name, {&given, 1}, {along}, function, w);
  return {both[0], both[1]};
}

}  // namespace

Tensor cumsum(const TensorOperand& x, int axis, std::optional<DType> dtype) {
  return accumulated("cumsum", x, axis, dtype_of_sums("cumsum", x, dtype),
                     [](const Formula& a, const Formula& b) { return a + b; });
}
Tensor cumprod(const TensorOperand& x, int axis, std::optional<DType> dtype) {
  return accumulated("cumprod", x, axis, dtype_of_sums("cumprod", x, dtype),
                     [](const Formula& a, const Formula& b) { return a * b; });
}
Tensor logcumsumexp(const TensorOperand& x, int axis) {
  const DType dtype = graph::tensor_of(x, "logcumsumexp").dtype();
  require(is_floating(dtype), "[logcumsumexp] the operand is ", dtype, " (at ", At{x.where},
          "); it must be floating");
  return accumulated("logcumsumexp", x, axis, dtype, [](const Formula& a, const Formula& b) {
    return Formula(logaddexp({a.tensor(), a.where()}, {b.tensor(), b.where()}), a.where());
  });
}
std::pair<Tensor, Tensor> cummax(const TensorOperand& x, int axis) {
  return extrema_so_far("cummax", x, axis,
                        [](const Formula& a, const Formula& b) { return a >= b; });
}
std::pair<Tensor, Tensor> cummin(const TensorOperand& x, int axis) {
  return extrema_so_far("cummin", x, axis,
                        [](const Formula& a, const Formula& b) { return a <= b; });
}

}  // namespace tilewright
