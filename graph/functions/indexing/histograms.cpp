#include "graph/functions/indexing/histograms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/indexing/scatters.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::Op;
using std::source_location;

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t least_bins,
                source_location w) {
  const graph::UserCall call("bincount", w);
  graph::tensor_of({x, w}, "bincount");
  require(is_integer(x.dtype()) && x.rank() == 1, "[bincount] the tensor is ", x.dtype(), " ",
          x.shape(), " (at ", At{w}, "); it must be integers of one axis");
  require(!weights.defined() || weights.shape() == x.shape(), "[bincount] the tensor is ",
          x.shape(), ", the weights ", weights.defined() ? weights.shape() : Shape{}, " (at ",
          At{w}, "); they must have one shape");
  require(least_bins >= 0, "[bincount] at least ", least_bins, " bins (at ", At{w},
          "); their number must not be negative");
  std::int64_t bins = least_bins;
  const Tensor numbers = x.to(DType::i64, w);
  if (x.count() > 0) {
    auto [least, greatest] = aminmax({numbers, w});
    const auto low = least.item<std::int64_t>(w);
    require(low >= 0, "[bincount] an element is ", low, " (at ", At{w}, "); none may be negative");
    bins = std::max(bins, greatest.item<std::int64_t>(w) + 1);
  }
  DType dtype = DType::i64;
  if (weights.defined()) dtype = weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  // As one operation, of which no row number is looked at again.
  auto function = [dtype, bins, w](std::span<const Tensor> tensors) {
    Tensor none = graph::constant(dtype, {bins}, 0, w);
    Tensor each = tensors[1].defined() ? tensors[1].to(dtype, w)
                                       : graph::constant(dtype, tensors[0].shape(), 1, w);
    return std::vector{index_add({none, w}, 0, tensors[0], each)};
  };
  return graph::apply_function("bincount", std::vector{numbers, weights}, {bins}, function, w)[0];
}

namespace {

struct Bins {
  std::string_view name;
  std::int64_t count;
  std::optional<std::pair<double, double>> range;
  double widening;      // of equal edges, to both sides
  bool looks_at_edges;  // after the bin is computed, for rounding
  source_location where;
};

// Equal to `value` everywhere in the shape; `value` has one element.
Formula spread(const Tensor& value, const Shape& shape, const Bins& bins) {
  return {graph::broadcast_to(graph::reshape_operand(value, Shape(shape.size(), 1), bins.where),
                              shape, bins.name, bins.where),
          bins.where};
}

// The first and the last edge, [1] each.
std::pair<Formula, Formula> outer_edges(const Tensor& flat, const Bins& bins) {
  const source_location w = bins.where;
  auto number = [&](double value) {
    return Formula(graph::constant(flat.dtype(), {1}, value, w), w);
  };
  if (bins.range) {
    auto [least, greatest] = *bins.range;
    const double apart = least == greatest ? bins.widening : 0;
    return {number(least - apart), number(greatest + apart)};
  }
  if (flat.count() == 0) return {number(bins.looks_at_edges ? 0 : -1), number(1)};
  auto [least, greatest] = aminmax({flat, w}, std::nullopt, true);
  Formula first(least, w), last(greatest, w);
  Formula apart = choice(first == last, first.number(bins.widening), 0);
  return {first - apart, last + apart};
}

// [count + 1], from both ends to the middle.
Formula edges_between(const Formula& first, const Formula& last, const Bins& bins) {
  const source_location w = bins.where;
  const Shape shape = {bins.count + 1};
  Formula place(arange(0, bins.count + 1, 1, DType::i64, w).to(first.dtype(), w), w);
  Formula step = spread(((last - first) / static_cast<double>(bins.count)).tensor(), shape, bins);
  Formula up = spread(first.tensor(), shape, bins) + step * place;
  Formula down =
      spread(last.tensor(), shape, bins) - step * (static_cast<double>(bins.count) - place);
  return choice(place < static_cast<double>((bins.count + 1) / 2), up, down);
}

// {counts, edges} of elements [n] with weights [n].
std::pair<Tensor, Tensor> counted(const Tensor& flat, const Tensor& weights, const Bins& bins) {
  const source_location w = bins.where;
  auto [first, last] = outer_edges(flat, bins);
  Formula edges = edges_between(first, last, bins);
  Tensor sums = graph::constant(flat.dtype(), {bins.count + 1}, 0, w);
  if (flat.count() > 0) {
    Formula x(flat, w);
    Formula low = spread(first.tensor(), flat.shape(), bins);
    Formula high = spread(last.tensor(), flat.shape(), bins);
    const DType number =
        bins.count < std::numeric_limits<std::int32_t>::max() / 2 ? DType::i32 : DType::i64;
    Formula place = ((x - low) * static_cast<double>(bins.count) / (high - low)).to(number);
    auto edge = [&](const Formula& at) {
      Formula inside = lesser(greater(at, at.number(0)), at.number(bins.count));
      Tensor table = graph::reshape_operand(edges.tensor(), {bins.count + 1, 1}, w);
      return Formula(
          graph::reshape_operand(embedding({inside.tensor(), w}, table), flat.shape(), w), w);
    };
    if (bins.looks_at_edges) {
      Formula next = place + place.number(1), before = place - place.number(1);
      place = choice((edge(next) <= x) & (next <= next.number(bins.count)), next,
                     choice(edge(place) <= x, place, before));
    }
    place = lesser(greater(place, place.number(0)), place.number(bins.count - 1));
    // Elements in no bin go to an extra bin.
    place = choice((x >= low) & (x <= high), place, place.number(bins.count));
    sums = index_add({sums, w}, 0, place.tensor(), weights);
  }
  return {sums.slice(0, 0, bins.count, 1, w), edges.tensor()};
}

std::pair<Tensor, Tensor> called(const TensorOperand& operand, const Tensor& weight,
                                 const Bins& bins, bool density) {
  const Tensor& x = graph::tensor_of(operand, bins.name);
  const source_location w = bins.where;
  require(is_floating(x.dtype()), "[", bins.name, "] the tensor is ", x.dtype(), " (at ", At{w},
          "); it must be floating: convert with to(f32)");
  require(bins.count > 0, "[", bins.name, "] ", bins.count, " bins (at ", At{w},
          "); there must be some");
  require(!bins.range || (bins.range->first <= bins.range->second &&
                          std::isfinite(bins.range->first) && std::isfinite(bins.range->second)),
          "[", bins.name, "] bins from ", bins.range ? bins.range->first : 0, " to ",
          bins.range ? bins.range->second : 0, " (at ", At{w},
          "); both must be finite, the first not above the second");
  require(!weight.defined() || (weight.shape() == x.shape() && weight.dtype() == x.dtype()), "[",
          bins.name, "] the tensor is ", x.dtype(), " ", x.shape(), " (at ", At{w},
          "); the weight must be alike");
  auto function = [bins, density, w](std::span<const Tensor> tensors) {
    const Shape flat = {tensors[0].count()};
    Tensor weights = tensors[1].defined() ? graph::reshape_operand(tensors[1], flat, w)
                                          : graph::constant(tensors[0].dtype(), flat, 1, w);
    auto [counts, edges] = counted(graph::reshape_operand(tensors[0], flat, w), weights, bins);
    if (density) {
      Formula all(sum({counts, w}, {0}, true), w), each(counts, w);
      Formula widths = Formula(edges.slice(0, 1, bins.count + 1, 1, w), w) -
                       Formula(edges.slice(0, 0, bins.count, 1, w), w);
      counts = (each / (spread(all.tensor(), counts.shape(), bins) * widths)).tensor();
    }
    return std::vector{counts, edges};
  };
  const auto [least, greatest] = bins.range.value_or(std::pair(0.0, 0.0));
  std::vector<Tensor> results = graph::apply_function(
      bins.name, std::vector{x, weight},
      {bins.count, bins.range.has_value(), least, greatest, density}, function, w);
  return {results[0], results[1]};
}

}  // namespace

Tensor histc(const TensorOperand& x, std::int64_t bins, double least, double greatest) {
  std::optional<std::pair<double, double>> range = std::pair(least, greatest);
  if (least == greatest && graph::tensor_of(x, "histc").count() > 0) range.reset();
  return called(x, {}, {"histc", bins, range, 1, false, x.where}, false).first;
}

std::pair<Tensor, Tensor> histogram(const TensorOperand& x, std::int64_t bins,
                                    const HistogramOptions& options) {
  return called(x, options.weight, {"histogram", bins, options.range, 0.5, true, x.where},
                options.density);
}

}  // namespace tilewright
