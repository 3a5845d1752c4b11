#include "graph/functions/indexing/advanced_indexing.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/indexing/replacement.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

// The indexed tensor, and its axes: those with an index come together, at their own place if they
// are neighbours, else in front.
struct Indexing {
  std::string_view name;
  source_location where;
  Shape sizes;               // of x
  std::vector<int> indexed;  // axes
  Shape places;              // that the indices broadcast to
  std::vector<int> order;    // of x's axes so that those indexed are neighbours
  int first = 0;             // of these, in that order

  // x with one axis for those indexed, at `first`.
  Tensor joined(const Tensor& x) const {
    Shape sizes_joined;
    for (int i = 0; i < first; ++i) sizes_joined.push_back(size_at(i));
    sizes_joined.push_back(indexed_count());
    for (int i = first + static_cast<int>(indexed.size()); i < sizes.rank(); ++i)
      sizes_joined.push_back(size_at(i));
    return graph::reshape_operand(ordered(x), sizes_joined, where);
  }
  // Reverses `joined`: the axes are as in x.
  Tensor apart(const Tensor& joined) const {
    Shape in_order;
    std::vector<int> back(order.size());
    for (int i = 0; i < sizes.rank(); ++i) {
      in_order.push_back(size_at(i));
      back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
    }
    return joined.reshape(in_order, where).permute(back, where);
  }
  std::int64_t indexed_count() const {
    std::int64_t count = 1;
    for (int axis : indexed) count *= sizes[axis];
    return count;
  }
  // The place along the joined axis; -1 where one of the indices is outside its axis.
  Tensor numbers(std::span<const Tensor> indices) const {
    std::optional<Formula> sum, is_inside;
    const DType dtype = graph::dtype_of_numbers(indexed_count());
    for (std::size_t i = 0; i < indexed.size(); ++i) {
      const std::int64_t size = sizes[indexed[i]];
      Formula at = graph::spread(indices[i].to(DType::i64, where), places, where);
      at = graph::inside_or_none(graph::from_end(at, size), size).to(dtype);
      is_inside = is_inside ? *is_inside & (at >= 0) : at >= 0;
      sum = sum ? *sum * sum->number(size) + at : at;
    }
    return indexed.size() == 1 ? sum->tensor() : choice(*is_inside, *sum, -1).tensor();
  }

 private:
  std::int64_t size_at(int i) const { return sizes[order[static_cast<std::size_t>(i)]]; }
  Tensor ordered(const Tensor& x) const {
    return std::ranges::is_sorted(order) ? x : x.permute(order, where);
  }
};

// Indices an axis each, those that are none left out; `at` has them in the order of their axes.
Indexing indexing_of(std::string_view name, const Tensor& x, const std::vector<Tensor>& indices,
                     std::vector<Tensor>& at, source_location w) {
  require(std::ssize(indices) <= x.rank(), "[", name, "] ", indices.size(),
          " indices are given for a tensor of shape ", x.shape(), " (at ", At{w},
          "); there must be one an axis at most");
  Indexing result{name, w, x.shape(), {}, {}, {}, 0};
  std::vector<int> others;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (i >= indices.size() || !indices[i].defined()) {
      others.push_back(axis);
      continue;
    }
    const Tensor& given = graph::index_operand(indices[i], name, w);
    std::optional<Shape> both = broadcast_shapes(result.places, given.shape());
    require(both.has_value(), "[", name, "] an index is ", given.shape(), ", others are ",
            result.places, " (at ", At{w}, "); they must broadcast");
    graph::require_inside(given, -x.shape()[axis], x.shape()[axis], name, w);
    result.places = *both;
    result.indexed.push_back(axis);
    at.push_back(given);
  }
  if (result.indexed.empty()) return result;
  const bool are_neighbours =
      result.indexed.back() - result.indexed.front() + 1 == std::ssize(result.indexed);
  result.first = are_neighbours ? result.indexed.front() : 0;
  result.order = others;
  result.order.insert(result.order.begin() + result.first, result.indexed.begin(),
                      result.indexed.end());
  return result;
}

// A mask stands for the places where it is true, an index tensor an axis.
std::vector<Tensor> without_masks(std::string_view name, const Tensor& x,
                                  const std::vector<Tensor>& indices, source_location w) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    const bool is_mask = index.defined() && (is_boolean(index.dtype()) || index.dtype() == u8);
    if (!is_mask) {
      result.push_back(index);
      continue;
    }
    const int first = static_cast<int>(result.size());
    bool fits = first + index.rank() <= x.rank() && index.rank() > 0;
    for (int i = 0; fits && i < index.rank(); ++i) fits = index.shape()[i] == x.shape()[first + i];
    require(fits, "[", name, "] a mask is ", index.shape(), " at axis ", first, " of ", x.shape(),
            " (at ", At{w}, "); it must have the sizes of the axes that it is over");
    const graph::UserCall call(name, w);
    Tensor places = nonzero({index, w});
    for (int axis = 0; axis < index.rank(); ++axis)
      result.push_back(places.select(1, axis, w).contiguous(w));
  }
  return result;
}

Tensor mask_operand(const Tensor& mask, std::string_view name, source_location w) {
  const Tensor given = graph::tensor_of({mask, w}, name);
  require(is_boolean(given.dtype()), "[", name, "] the mask is ", given.dtype(), " (at ", At{w},
          "); it must be bool");
  return given;
}
Shape both_sizes(const Tensor& x, const Tensor& mask, std::string_view name, source_location w) {
  std::optional<Shape> both = broadcast_shapes(x.shape(), mask.shape());
  require(both.has_value(), "[", name, "] x is ", x.shape(), ", the mask ", mask.shape(), " (at ",
          At{w}, "); they must broadcast");
  return *both;
}

// x with the values, operands[1], added to the parts that the indices behind them name.
Tensor added_at(const Indexing& indexing, std::span<const Tensor> operands) {
  auto w = indexing.where;
  Tensor x = indexing.joined(operands[0]), places = indexing.numbers(operands.subspan(2));
  const auto axis = x.shape().begin() + indexing.first;
  Shape parts(x.shape().begin(), axis), rows = parts;
  parts.insert(parts.end(), places.shape().begin(), places.shape().end());
  rows.push_back(places.count());
  for (Shape* sizes : {&parts, &rows}) sizes->insert(sizes->end(), axis + 1, x.shape().end());
  Tensor source = graph::reshape_operand(graph::spread(operands[1], parts, w).tensor(), rows, w);
  return indexing.apart(index_add({x, w}, indexing.first,
                                  graph::reshape_operand(places, {places.count()}, w), source));
}

}  // namespace

Tensor index(const TensorOperand& x, const std::vector<Tensor>& indices) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "index");
  std::vector<Tensor> operands = {given};
  const Indexing indexing =
      indexing_of("index", given, without_masks("index", given, indices, w), operands, w);
  if (indexing.indexed.empty()) return given;
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {
        graph::parts_at(indexing.joined(t[0]), indexing.first, indexing.numbers(t.subspan(1)), w)};
  };
  std::vector<Number> settings(indexing.indexed.begin(), indexing.indexed.end());
  return graph::apply_function("index", operands, settings, function, w)[0];
}

namespace {

// An index_put as a function of x, the values and the indices; with no index all of x is put.
struct Put {
  std::vector<Tensor> operands;
  Indexing indexing;
  bool accumulate;

  Put(std::string_view name, const Tensor& x, const std::vector<Tensor>& indices,
      const Tensor& values, bool accumulate, source_location w)
      : operands{x, values},
        indexing(indexing_of(name, x, without_masks(name, x, indices, w), operands, w)),
        accumulate(accumulate) {}

  bool is_whole() const { return indexing.indexed.empty(); }
  std::vector<Number> settings() const {
    return {indexing.indexed.begin(), indexing.indexed.end()};
  }
  graph::TensorsFunction function() const {
    return [this](std::span<const Tensor> t) -> std::vector<Tensor> {
      auto w = indexing.where;
      return {indexing.apart(graph::with_parts_at(indexing.joined(t[0]), indexing.first,
                                                  indexing.numbers(t.subspan(2)), t[1], w))};
    };
  }
  Tensor result() const {
    auto w = indexing.where;
    if (is_whole()) {
      Tensor all = graph::expanded_view(operands[1], operands[0].shape(), "index_put", w);
      return accumulate ? graph::apply(graph::Op::add, {operands[0], all}, {}, w) : all;
    }
    if (accumulate) return added_at(indexing, operands);
    return graph::apply_function(indexing.name, operands, settings(), function(), w)[0];
  }
};

}  // namespace

Tensor index_put(const TensorOperand& x, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulate) {
  if (const graph::AutocastCall cast("index_put", x.where, {x.tensor, values}); cast.is_listed())
    return index_put(cast(x), indices, cast(values), accumulate);
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "index_put");
  graph::require_dtype_of(given, graph::tensor_of({values, w}, "index_put"), "index_put", w);
  return Put("index_put", given, indices, values, accumulate, w).result();
}

void graph::write_index_put(const Tensor& x, const std::vector<Tensor>& indices,
                            const Tensor& values, bool accumulate, source_location w) {
  const Put put("index_put_", x, indices, values, accumulate, w);
  if (put.is_whole() || accumulate) return Tensor(x).copy_from(put.result(), w);
  graph::write_function("index_put_", put.operands, put.settings(), put.function(), w);
}

void graph::write_where(const Tensor& x, const Tensor& mask, const Tensor& value,
                        source_location w) {
  const Tensor operands[] = {x, mask, value};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    auto spread = [&](std::size_t i) { return graph::spread(t[i], x.shape(), w); };
    return {choice(spread(1), spread(2), spread(0)).tensor()};
  };
  graph::write_function("masked_fill_", operands, {}, function, w);
}

namespace {

// For flags of 0 and 1: the places of those that are 1, along each axis, row-major. Eight at once
// are passed over where they are 0, and a line along the last axis shares its other places.
std::vector<std::int64_t> places_of_ones(std::span<const std::uint8_t> flags, const Shape& shape) {
  constexpr std::size_t at_once = 8;
  const auto line = static_cast<std::size_t>(shape.empty() ? 1 : shape[-1]);
  std::vector<std::int64_t> places, place(static_cast<std::size_t>(shape.rank()), 0);
  reserve_list(places, "nonzero",
               (std::ssize(flags) - std::ranges::count(flags, 0)) * std::ssize(place));
  for (std::size_t start = 0; start < flags.size(); start += line) {
    for (std::size_t i = 0; i < line; ++i) {
      std::uint64_t word = 1;
      if (i + at_once <= line) std::memcpy(&word, flags.data() + start + i, at_once);
      if (word == 0) i += at_once - 1;
      if (word == 0 || flags[start + i] == 0) continue;
      if (!place.empty()) place.back() = static_cast<std::int64_t>(i);
      places.insert(places.end(), place.begin(), place.end());
    }
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
      if (++place[static_cast<std::size_t>(axis)] < shape[axis]) break;
      place[static_cast<std::size_t>(axis)] = 0;
    }
  }
  return places;
}

}  // namespace

Tensor nonzero(const TensorOperand& x) {
  auto w = x.where;
  const graph::UserCall call("nonzero", w);
  const Tensor& given = graph::tensor_of(x, "nonzero");
  const std::vector<std::uint8_t> flags =
      given.to(DType::boolean, w).to(DType::u8, w).to_vector<std::uint8_t>(w);
  const std::vector<std::int64_t> places = places_of_ones(flags, given.shape());
  const auto count = static_cast<std::int64_t>(flags.size()) - std::ranges::count(flags, 0);
  Tensor result = Tensor::from(places, {count, given.rank()});
  return given.is_symbolic() ? result : result.to(given.device(w), w);
}

Tensor masked_select(const TensorOperand& x, const Tensor& mask) {
  auto w = x.where;
  const graph::UserCall call("masked_select", w);
  const Tensor given = graph::tensor_of(x, "masked_select");
  const Tensor where_true = mask_operand(mask, "masked_select", w);
  const Shape both = both_sizes(given, where_true, "masked_select", w);
  Tensor whole = graph::with_axis(graph::broadcast_to(given, both, "masked_select", w), w);
  return index({whole, w},
               {graph::with_axis(graph::broadcast_to(where_true, both, "masked_select", w), w)});
}

Tensor masked_fill(const TensorOperand& x, const Tensor& mask, const TensorOperand& value) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "masked_fill");
  const Tensor where_true = mask_operand(mask, "masked_fill", w);
  const Shape both = both_sizes(given, where_true, "masked_fill", w);
  const Tensor operands[] = {given, where_true, graph::filler(given, value, "masked_fill", w)};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    auto spread = [&](std::size_t i) { return graph::spread(t[i], both, w); };
    return {choice(spread(1), spread(2), spread(0)).tensor()};
  };
  return graph::apply_function("masked_fill", operands, {}, function, w)[0];
}

Tensor masked_scatter(const TensorOperand& x, const Tensor& mask, const Tensor& source) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "masked_scatter");
  const Tensor where_true = mask_operand(mask, "masked_scatter", w);
  graph::require_dtype_of(given, graph::tensor_of({source, w}, "masked_scatter"), "masked_scatter",
                          w);
  const Shape both = both_sizes(given, where_true, "masked_scatter", w);
  const std::int64_t count = element_count(both);
  if (graph::Capture::active() == nullptr) {
    Tensor set = sum({graph::broadcast_to(where_true, both, "masked_scatter", w), w});
    const auto wanted = set.item<std::int64_t>(w);
    require(wanted <= source.count(), "[masked_scatter] the mask has ", wanted,
            " places; the source has ", source.count(), " elements (at ", At{w},
            "); there must be one for each place");
  }
  const Tensor operands[] = {given, where_true, source};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    Formula is_set = graph::spread(t[1], both, w);
    Tensor flat = graph::reshape_operand(is_set.tensor(), {count}, w);
    Formula number = Formula(cumsum({flat, w}, 0), w) - 1;
    Formula is_wanted(flat, w);
    number = choice(is_wanted, graph::inside_or_none(number, t[2].count()), 0);
    Tensor from = graph::elements_at(t[2], number.tensor(), w);
    return {choice(is_set, {graph::reshape_operand(from, both, w), w}, graph::spread(t[0], both, w))
                .tensor()};
  };
  return graph::apply_function("masked_scatter", operands, {}, function, w)[0];
}

Tensor nonzero_static(const TensorOperand& operand, std::int64_t wanted, std::int64_t fill) {
  return graph::of_user_call("nonzero_static", operand.where, [&] {
    const Tensor& x = graph::tensor_of(operand, "nonzero_static");
    require(wanted >= 0 && wanted <= INT32_MAX, "[nonzero_static] ", wanted, " places (at ",
            At{operand.where}, "); a number in [0, 2^31) is wanted");
    if (x.rank() == 0) return full({wanted, 0}, fill, i64);
    const Tensor counts = x.reshape({x.count()}) != 0, so_far = cumsum(counts.to(i64), 0) - 1;
    // One place more, for those that there is no place for.
    const Tensor place = where(logical_and(counts, so_far < wanted), so_far, wanted),
                 none = full({wanted + 1}, std::int64_t{-1}, i64),
                 numbers = scatter(none, 0, place, arange(0, x.count())).slice(0, 0, wanted);
    std::vector<Tensor> columns;
    std::int64_t inner = x.count();
    for (std::int64_t size : x.shape()) {
      inner /= std::max<std::int64_t>(size, 1);
      const Tensor at = remainder(floor_divide(numbers, std::max<std::int64_t>(inner, 1)), size);
      columns.push_back(where(numbers < 0, fill, at).unsqueeze(1));
    }
    return cat(columns, 1);
  });
}

namespace {

// The places of each tuple by axis, and in front of them those of the batch.
std::vector<Tensor> places_of_tuples(std::string_view name, const Tensor& x, const Tensor& index,
                                     int batch) {
  require(batch >= 0 && index.rank() > batch && index.size(-1) <= x.rank() - batch, "[", name,
          "] an index [", index.shape(), "] does not fit [", x.shape(),
          "]; its last axis must have 0 to ", x.rank() - batch, " numbers, behind ", batch,
          " axes of the batch");
  std::vector<Tensor> places;
  const Shape lead(index.shape().begin(), index.shape().end() - 1);
  for (int axis = 0; axis < batch; ++axis) {
    Shape sizes(lead.size(), 1);
    sizes[axis] = lead[axis];
    places.push_back(arange(0, lead[axis]).reshape(sizes).expand(lead));
  }
  for (std::int64_t i = 0; i < index.size(-1); ++i)
    places.push_back(index.select(index.rank() - 1, i).contiguous());
  return places;
}
// [.., x's sizes], a copy of x for each tuple of no places.
Shape sizes_of_wholes(const Tensor& x, const Tensor& index) {
  Shape sizes(index.shape().begin(), index.shape().end() - 1);
  sizes.insert(sizes.end(), x.shape().begin(), x.shape().end());
  return sizes;
}

// Each update is one of all of x.
Tensor scattered_wholes(const Tensor& x, const Tensor& index, const Tensor& updates,
                        std::optional<ScatterReduction> reduction) {
  const Shape wanted = sizes_of_wholes(x, index);
  require(updates.shape() == wanted, "[scatter_nd] updates [", updates.shape(), "] of [", x.shape(),
          "] by an index [", index.shape(), "]; [", wanted, "] is wanted");
  const std::int64_t count = element_count(Shape(index.shape().begin(), index.shape().end() - 1));
  Shape sizes = x.shape();
  sizes.insert(sizes.begin(), count);
  const Tensor parts = updates.reshape(sizes);
  if (!reduction) return count == 0 ? x : parts.select(0, count - 1);
  const Tensor all = cat({x.unsqueeze(0), parts}, 0);
  switch (*reduction) {
    case ScatterReduction::sum: return sum(all, {0}).to(x.dtype());
    case ScatterReduction::prod: return prod(all, {0}).to(x.dtype());
    case ScatterReduction::mean: return mean(all, {0}).to(x.dtype());
    case ScatterReduction::amax: return amax(all, {0});
    case ScatterReduction::amin: return amin(all, {0});
  }
  __builtin_unreachable();
}

// Joined as rows of all that lies behind the axes that tuples name.
Tensor scattered_rows(const Tensor& x, const std::vector<Tensor>& places, const Tensor& updates,
                      ScatterReduction reduction, source_location w) {
  Tensor row = zeros({}, i64);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t size = x.size(static_cast<int>(i));
    graph::require_inside(places[i], -size, size, "scatter_nd", w);
    row = row * size + graph::from_end({places[i].to(i64, w), w}, size).tensor();
    rows *= size;
  }
  const std::int64_t width = x.count() / std::max<std::int64_t>(rows, 1), count = row.count();
  const Tensor named = row.reshape({count, 1}).expand({count, width});
  return scatter_reduce(x.reshape({rows, width}), 0, named, updates.reshape({count, width}),
                        reduction)
      .reshape(x.shape());
}

}  // namespace

Tensor gather_nd(const TensorOperand& x, const Tensor& index, int batch_axes) {
  return graph::of_user_call("gather_nd", x.where, [&] {
    const Tensor& given = graph::tensor_of(x, "gather_nd");
    const std::vector<Tensor> places = places_of_tuples("gather_nd", given, index, batch_axes);
    return places.empty() ? given.expand(sizes_of_wholes(given, index))
                          : tilewright::index(given, places);
  });
}
Tensor scatter_nd(const TensorOperand& x, const Tensor& index, const Tensor& updates,
                  std::optional<ScatterReduction> reduction) {
  const source_location w = x.where;
  return graph::of_user_call("scatter_nd", w, [&] {
    const Tensor& given = graph::tensor_of(x, "scatter_nd");
    const std::vector<Tensor> places = places_of_tuples("scatter_nd", given, index, 0);
    if (places.empty()) return scattered_wholes(given, index, updates, reduction);
    if (!reduction || *reduction == ScatterReduction::sum)
      return index_put(given, places, updates, reduction.has_value());
    return scattered_rows(given, places, updates, *reduction, w);
  });
}

}  // namespace tilewright
