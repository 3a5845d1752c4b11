#include "graph/functions/pooling/adaptive_pooling.h"

#include <limits>
#include <numeric>

#include "graph/functions/indexing/along_axis.h"
#include "graph/functions/pooling/pooled_axes.h"
#include "graph/ir/location.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

constexpr std::int64_t most_parts = std::int64_t{1} << 31;  // of all axes together

Shape checked_parts(std::string_view name, int rank, const Tensor& x, const Shape& given,
                    source_location w) {
  require(x.rank() == rank + 1 || x.rank() == rank + 2, "[", name, "] x is ", x.shape(), " (at ",
          At{w}, "); it must have ", rank + 1, " or ", rank + 2, " axes");
  require(!given.empty(), "[", name, "] there are no parts (at ", At{w},
          "); there must be a number, or one an axis");
  Shape parts = graph::pool_values(name, "the parts", rank, given, 1, 1, w);
  for (int i = 0; i < rank; ++i)
    require(x.size(x.rank() - rank + i) > 0, "[", name, "] x is ", x.shape(), " (at ", At{w},
            "); an axis that is divided must have an element");
  std::int64_t together = 1;
  for (std::int64_t count : parts) {
    require(together <= most_parts / count, "[", name, "] ", parts, " parts are too many (at ",
            At{w}, "); there may be ", most_parts, " in all");
    together *= count;
  }
  return parts;
}

// The parts of one axis.
struct Division {
  std::int64_t size, parts;
  source_location where;

  bool is_even() const { return size % parts == 0; }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < parts; ++i) most = std::max(most, end(i) - i * size / parts);
    return most;
  }
  std::int64_t end(std::int64_t part) const { return ((part + 1) * size + parts - 1) / parts; }
  // i64, of the sizes, whose axis is that of the parts.
  Formula starts(const Shape& sizes, int axis) const {
    Formula part = graph::places_along(sizes, axis, where);
    return part * part.number(size) / part.number(parts);
  }
  Formula lengths(const Shape& sizes, int axis) const {
    Formula part = graph::places_along(sizes, axis, where);
    Formula end = ((part + 1) * part.number(size) + part.number(parts - 1)) / part.number(parts);
    return end - starts(sizes, axis);
  }
};

// x with an axis [parts, elements of a part] for the one that is divided, and `missing` behind the
// elements of shorter parts.
Tensor divided(const Tensor& x, int axis, const Division& division, const Number& missing) {
  auto w = division.where;
  Shape apart = x.shape();
  apart[axis] = division.parts;
  if (division.is_even()) {
    apart.insert(apart.begin() + axis + 1, division.size / division.parts);
    return graph::reshape_operand(x, apart, w);
  }
  const Shape table = {division.parts, division.longest()};
  Formula place = graph::places_along(table, 1, w);
  Formula is_inside = place < division.lengths(table, 0);
  Formula from = choice(is_inside, division.starts(table, 0) + place, 0);
  Formula elements(graph::parts_at(x, axis, from.tensor(), w), w);
  Shape along(elements.tensor().shape().size(), 1);
  along[axis] = table[0];
  along[axis + 1] = table[1];
  Formula inside = graph::spread(graph::reshape_operand(is_inside.tensor(), along, w),
                                 elements.tensor().shape(), w);
  return choice(inside, elements, elements.number(missing)).tensor();
}

Division division_of(const Tensor& x, int axis, std::int64_t parts, source_location w) {
  return {x.shape()[axis], parts, w};
}

std::vector<Number> settings_of(const Shape& parts) {
  std::vector<Number> settings;
  graph::add_settings(settings, parts);
  return settings;
}

Tensor averaged(std::string_view name, int rank, const TensorOperand& x, const Shape& given_parts) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  require(is_floating(given.dtype()), "[", name, "] x is ", given.dtype(), " (at ", At{w},
          "); it must be floating");
  const Shape parts = checked_parts(name, rank, given, given_parts, w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor sums = graph::reshape_operand(t[0], t[0].shape(), w).to(accumulator(t[0].dtype()), w);
    const int first = sums.rank() - rank;
    const Shape result = graph::pooled_sizes(sums, parts);
    if (element_count(parts) == 1) {
      std::vector<int> axes(static_cast<std::size_t>(rank));
      std::iota(axes.begin(), axes.end(), first);
      const double all =
          static_cast<double>(sums.count()) / static_cast<double>(element_count(result));
      const Tensor total = graph::reshape_operand(sum({sums, w}, axes), result, w);
      return {(Formula(total, w) / all).to(t[0].dtype()).tensor()};
    }
    Formula count(graph::constant(DType::i64, result, 1, w), w);
    for (int i = 0; i < rank; ++i) {
      const Division division = division_of(sums, first + i, parts[i], w);
      count = count * division.lengths(result, first + i);
      sums = sum({divided(sums, first + i, division, 0), w}, {first + i + 1});
    }
    return {(Formula(sums, w) / count.to(sums.dtype())).to(t[0].dtype()).tensor()};
  };
  return graph::apply_function(name, {&given, 1}, settings_of(parts), function, w)[0];
}

std::pair<Tensor, Tensor> greatest(std::string_view name, int rank, const TensorOperand& x,
                                   const Shape& given_parts) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  require(is_floating(given.dtype()), "[", name, "] x is ", given.dtype(), " (at ", At{w},
          "); it must be floating");
  const Shape parts = checked_parts(name, rank, given, given_parts, w);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Tensor values = graph::reshape_operand(t[0], t[0].shape(), w), numbers;
    std::int64_t stride = 1;
    for (int axis = values.rank() - 1; axis >= values.rank() - rank; --axis) {
      const Division division = division_of(values, axis, parts[axis - (values.rank() - rank)], w);
      Tensor all = divided(values, axis, division, -std::numeric_limits<double>::infinity());
      auto [best, place] = graph::greatest_and_place(all, axis + 1, w);
      Formula at = division.starts(best.shape(), axis) + place;
      Formula own = at * at.number(stride);
      // The number along the axes behind, of the element that has won.
      if (numbers.defined()) {
        Tensor from = graph::numbers_along(numbers, axis, at.tensor(), false, w);
        own = own + Formula(graph::elements_at(numbers, from, w), w);
      }
      numbers = own.tensor();
      values = best;
      stride *= division.size;
    }
    return {values, numbers};
  };
  std::vector<Tensor> both =
      graph::apply_function(name, {&given, 1}, settings_of(parts), function, w);
  return {both[0], both[1]};
}

}  // namespace

Tensor adaptive_avg_pool1d(const TensorOperand& x, const Sizes& parts) {
  return averaged("adaptive_avg_pool1d", 1, x, parts);
}
Tensor adaptive_avg_pool2d(const TensorOperand& x, const Sizes& parts) {
  return averaged("adaptive_avg_pool2d", 2, x, parts);
}
Tensor adaptive_avg_pool3d(const TensorOperand& x, const Sizes& parts) {
  if (const graph::AutocastCall cast("adaptive_avg_pool3d", x.where); cast.is_listed())
    return adaptive_avg_pool3d(cast(x), parts);
  return averaged("adaptive_avg_pool3d", 3, x, parts);
}
std::pair<Tensor, Tensor> adaptive_max_pool1d(const TensorOperand& x, const Sizes& parts) {
  return greatest("adaptive_max_pool1d", 1, x, parts);
}
std::pair<Tensor, Tensor> adaptive_max_pool2d(const TensorOperand& x, const Sizes& parts) {
  return greatest("adaptive_max_pool2d", 2, x, parts);
}
std::pair<Tensor, Tensor> adaptive_max_pool3d(const TensorOperand& x, const Sizes& parts) {
  if (const graph::AutocastCall cast("adaptive_max_pool3d", x.where); cast.is_listed())
    return adaptive_max_pool3d(cast(x), parts);
  return greatest("adaptive_max_pool3d", 3, x, parts);
}

}  // namespace tilewright
