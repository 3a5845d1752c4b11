#include "graph/functions/indexing/numbered.h"

#include <algorithm>

#include "graph/ir/location.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using std::source_location;

namespace {

Formula all_of(std::int64_t number, const Shape& sizes, DType dtype, source_location w) {
  return {constant(dtype, sizes, number, w), w};
}

// x as [parts before the axis * its size, elements of a part]. The number of the part at a place of
// the axis, for each of those before it.
struct Parts {
  std::int64_t before = 1, size = 0, width = 1;
  Shape chosen;  // the sizes of x with those of the places for the axis

  Parts(const Tensor& x, int axis, const Shape& places) : size(x.shape()[axis]) {
    for (int i = 0; i < axis; ++i) before *= x.shape()[i];
    for (int i = axis + 1; i < x.rank(); ++i) width *= x.shape()[i];
    chosen.insert(chosen.end(), x.shape().begin(), x.shape().begin() + axis);
    chosen.insert(chosen.end(), places.begin(), places.end());
    chosen.insert(chosen.end(), x.shape().begin() + axis + 1, x.shape().end());
  }
  Tensor table(const Tensor& x, source_location w) const {
    return reshape_operand(x, {before * size, width}, w);
  }
  // One axis. Where nothing is before the axis they are the places as they are.
  Tensor numbers(const Tensor& places, source_location w) const {
    const std::int64_t count = places.count();
    Tensor flat = reshape_operand(places, {count}, w);
    if (before == 1) return flat;
    const Shape sizes = {before, count};
    const DType own = size > INT32_MAX ? DType::i64 : flat.dtype();
    const DType dtype = dtype_of_numbers(before * size);
    Formula place = inside_or_none(spread(flat.to(own, w), sizes, w), size).to(dtype);
    Formula whole = places_along(sizes, 0, w, dtype) * all_of(size, sizes, dtype, w) + place;
    return reshape_operand(choice(place < 0, place, whole).tensor(), {before * count}, w);
  }
};

}  // namespace

DType dtype_of_numbers(std::int64_t count) { return count <= INT32_MAX ? DType::i32 : DType::i64; }
Formula strided_numbers(const Shape& sizes, const Strides& strides, std::int64_t offset,
                        source_location w) {
  std::int64_t last = offset;
  for (int axis = 0; axis < sizes.rank(); ++axis)
    last += std::max<std::int64_t>(sizes[axis] - 1, 0) * strides[axis];
  const DType dtype = dtype_of_numbers(last + 1);
  Formula numbers = all_of(offset, sizes, dtype, w);
  for (int axis = 0; axis < sizes.rank(); ++axis)
    if (strides[axis] != 0 && sizes[axis] != 1)
      numbers =
          numbers + places_along(sizes, axis, w, dtype) * all_of(strides[axis], sizes, dtype, w);
  return numbers;
}

Formula from_end(const Formula& numbers, std::int64_t size) {
  return choice(numbers < 0, numbers + numbers.number(size), numbers);
}
Formula inside_or_none(const Formula& numbers, std::int64_t size) {
  return choice((numbers < 0) | (numbers >= numbers.number(size)), -1, numbers);
}

Tensor elements_at(const Tensor& x, const Tensor& numbers, source_location w) {
  if (numbers.count() == 0 || x.count() == 0) return constant(x.dtype(), numbers.shape(), 0, w);
  Tensor flat = reshape_operand(numbers, {numbers.count()}, w);
  Tensor table = reshape_operand(x, {x.count(), 1}, w);
  return apply(Op::embedding, {table, flat}, {}, w).reshape(numbers.shape(), w);
}

Tensor with_elements_at(const Tensor& x, const Tensor& numbers, const Tensor& values,
                        source_location w) {
  if (numbers.count() == 0 || x.count() == 0) return x;
  Tensor flat = reshape_operand(x, {x.count()}, w);
  Tensor replaced = with_parts_at(
      flat, 0, reshape_operand(numbers, {numbers.count()}, w),
      reshape_operand(spread(values, numbers.shape(), w).tensor(), {numbers.count()}, w), w);
  return replaced.reshape(x.shape(), w);
}

Tensor parts_at(const Tensor& x, int axis, const Tensor& places, source_location w) {
  const Parts parts(x, axis, places.shape());
  if (element_count(parts.chosen) == 0 || x.count() == 0)
    return constant(x.dtype(), parts.chosen, 0, w);
  return apply(Op::embedding, {parts.table(x, w), parts.numbers(places, w)}, {}, w)
      .reshape(parts.chosen, w);
}

Tensor with_parts_at(const Tensor& x, int axis, const Tensor& places, const Tensor& values,
                     source_location w) {
  const Parts parts(x, axis, places.shape());
  if (element_count(parts.chosen) == 0 || x.count() == 0) return x;
  const Shape rows = {parts.before * places.count(), parts.width};
  Tensor source = reshape_operand(spread(values, parts.chosen, w).tensor(), rows, w);
  Attributes attributes;
  attributes.axes = {0};
  return apply(Op::index_copy, {parts.table(x, w), parts.numbers(places, w), source}, attributes, w)
      .reshape(x.shape(), w);
}

Tensor backwards(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
                 source_location w) {
  Attributes attributes;
  attributes.axes = {axis};
  attributes.start = start;
  attributes.end = start - count;
  attributes.step = -1;
  Tensor part = apply(Op::slice, {x}, attributes, w);
  return part.is_symbolic() ? part.clone(w) : part;  // and no view that could be written through
}

Tensor index_operand(const Tensor& index, std::string_view operation, source_location w) {
  const Tensor given = tensor_of({index, w}, operation);
  require(given.dtype() == DType::i32 || given.dtype() == DType::i64, "[", operation,
          "] the index is ", given.dtype(), " (at ", At{w}, "); it must be i32 or i64");
  return given;
}

void require_inside(const Tensor& index, std::int64_t least, std::int64_t size,
                    std::string_view operation, source_location w) {
  require_inside(index, {std::string(operation), IndexRange::Noun::index, least, size, w});
}

void add_settings(std::vector<Number>& settings, const Shape& sizes) {
  settings.emplace_back(sizes.rank());
  for (std::int64_t size : sizes) settings.emplace_back(size);
}

}  // namespace tilewright::graph
