#include "graph/functions/indexing/searching.h"

#include <bit>

#include "graph/functions/indexing/numbered.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

// [rows, V] of numbers in rows [rows, S], or in one row for all.
struct Search {
  Tensor sequence, sorter;
  std::int64_t rows, length;
  bool right;
  source_location where;

  // For each value, the element that the search looks at.
  Formula element(const Formula& middle) const {
    const Shape& sizes = middle.tensor().shape();
    Formula first = graph::places_along(sizes, 0, where) * static_cast<double>(length);
    if (rows == 1) first = first.number(0);
    Formula place = middle;
    if (sorter.defined()) {
      Tensor sorted =
          graph::elements_at(sorter.to(DType::i64, where), (first + middle).tensor(), where);
      place = graph::inside_or_none({sorted, where}, length);
      place = choice(place < 0, 0, place);
    }
    return {graph::elements_at(sequence, (first + place).tensor(), where), where};
  }
  Formula places(const Formula& values) const {
    const Shape& sizes = values.tensor().shape();
    Formula low(graph::constant(DType::i64, sizes, 0, where), where);
    Formula high = low.number(length);
    for (int step = std::bit_width(static_cast<std::uint64_t>(length)); step > 0; --step) {
      Formula middle = lesser((low + high) / low.number(2), low.number(length - 1));
      Formula here = element(middle);
      Formula stops = right ? here > values : here >= values;  // a NaN never does
      Formula goes_on = low < high;
      low = choice(goes_on & !stops, middle + 1, low);
      high = choice(goes_on & stops, middle, high);
    }
    return low;
  }
};

}  // namespace

Tensor searchsorted(const TensorOperand& sequence, const TensorOperand& values,
                    const SearchOptions& options) {
  auto w = sequence.where;
  const Tensor sorted = graph::tensor_of(sequence, "searchsorted");
  const Tensor wanted = values.is_number
                            ? graph::constant(values.number.dtype(), {}, values.number, w)
                            : graph::tensor_of(values, "searchsorted");
  require(sorted.rank() > 0, "[searchsorted] the sequence has no axes (at ", At{w},
          "); it must have one at least");
  const std::int64_t length = sorted.size(-1);
  const bool is_shared = sorted.rank() == 1;
  Shape leading = sorted.shape();
  leading.pop_back();
  bool fits = is_shared || wanted.rank() == sorted.rank();
  for (int i = 0; fits && i < leading.rank(); ++i) fits = wanted.shape()[i] == leading[i];
  require(fits, "[searchsorted] the sequence is ", sorted.shape(), ", the values are ",
          wanted.shape(), " (at ", At{w},
          "); the sequence must have one axis, or both equal axes but for the last");
  const Tensor& sorter = options.sorter;
  if (sorter.defined()) {
    graph::index_operand(sorter, "searchsorted", w);
    require(sorter.shape() == sorted.shape(), "[searchsorted] the sequence is ", sorted.shape(),
            ", the sorter ", sorter.shape(), " (at ", At{w}, "); they must have one shape");
    graph::require_inside(sorter, 0, length, "searchsorted", w);
  }
  const TensorOperand both[] = {{sorted, w}, {wanted, w}};
  const TensorOperand* of_dtype[] = {&both[0], values.is_number ? &values : &both[1]};
  const DType common = graph::common_dtype("searchsorted", of_dtype);
  const DType result = options.out_int32 ? DType::i32 : DType::i64;
  const std::int64_t rows = is_shared ? 1 : element_count(leading);
  if (wanted.count() == 0 || length == 0) return zeros(wanted.shape(), result, w);
  const Tensor operands[] = {sorted, wanted, sorter};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Shape table = {rows, wanted.count() / rows};
    Search search{t[0].to(common, w), t[2], rows, length, options.right, w};
    Formula of_rows(graph::reshape_operand(t[1].to(common, w), table, w), w);
    return {graph::reshape_operand(search.places(of_rows).to(result).tensor(), t[1].shape(), w)};
  };
  return graph::apply_function("searchsorted", operands,
                               {options.right, static_cast<int>(result), static_cast<int>(common)},
                               function, w)[0];
}

Tensor bucketize(const TensorOperand& values, const Tensor& boundaries, bool right,
                 bool out_int32) {
  auto w = values.where;
  require(graph::tensor_of({boundaries, w}, "bucketize").rank() == 1, "[bucketize] boundaries are ",
          boundaries.shape(), " (at ", At{w}, "); they must have one axis");
  return searchsorted({boundaries, w}, values, {.right = right, .out_int32 = out_int32});
}

}  // namespace tilewright
