#include "graph/functions/indexing/along_axis.h"

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using std::source_location;

namespace {

Shape sizes_of(const Tensor& x) { return x.rank() == 0 ? Shape{1} : x.shape(); }

}  // namespace

Tensor index_along(const Tensor& x, int axis, const Tensor& index, bool counts_from_end,
                   std::string_view operation, source_location w) {
  if (tensor_of({index, w}, operation).count() == 0) return index;
  const Tensor& given = index_operand(index, operation, w);
  const Shape own = sizes_of(x), places = sizes_of(given);
  bool fits = own.rank() == places.rank();
  for (int i = 0; fits && i < own.rank(); ++i) fits = i == axis || places[i] <= own[i];
  require(fits, "[", operation, "] the index has the shape ", given.shape(),
          ", and what it is an index of ", x.shape(), " (at ", At{w},
          "); they must have as many axes, and the index no more elements along any but axis ",
          axis);
  require_inside(given, counts_from_end ? -own[axis] : 0, own[axis], operation, w);
  return given;
}

Tensor numbers_along(const Tensor& x, int axis, const Tensor& index, bool counts_from_end,
                     source_location w) {
  const Shape own = sizes_of(x), places = sizes_of(index);
  if (index.count() == 0) return constant(DType::i64, index.shape(), 0, w);
  Strides strides = row_major_strides(own), others = strides;
  others[axis] = 0;
  const DType dtype = dtype_of_numbers(x.count());
  Formula given(reshape_operand(index.to(DType::i64, w), places, w), w);
  if (counts_from_end) given = from_end(given, own[axis]);
  Formula along = inside_or_none(given, own[axis]).to(dtype);
  Formula numbers =
      strided_numbers(places, others, 0, w).to(dtype) + along * along.number(strides[axis]);
  return choice(along < 0, -1, numbers).tensor();
}

}  // namespace tilewright::graph
