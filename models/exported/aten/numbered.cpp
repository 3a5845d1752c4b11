#include "models/exported/aten/numbered.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// The axes that have an index tensor, and the others.
struct IndexedAxes {
  std::vector<int> indexed, others;
  bool are_neighbours() const {
    return indexed.back() - indexed.front() + 1 == std::ssize(indexed);
  }
};

IndexedAxes axes_of(const Tensor& x, const std::vector<Tensor>& indices) {
  require(std::ssize(indices) <= x.rank(), "[exported] ", indices.size(),
          " indices are given for a tensor of shape [", x.shape(), "]");
  IndexedAxes axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    auto i = static_cast<std::size_t>(axis);
    (i < indices.size() && indices[i].defined() ? axes.indexed : axes.others).push_back(axis);
  }
  return axes;
}

// x as a table of rows: indexed axes first, the others in one row.
struct Rows {
  Tensor table;    // [rows, elements of a row]
  Tensor numbers;  // of the rows that are meant
  IndexedAxes axes;
  std::vector<int> order;  // of x's axes in the table
  Shape ordered;           // their sizes
  Shape chosen;            // the sizes of numbers, then those of the others
};

Rows rows_of(const Tensor& x, const std::vector<Tensor>& indices) {
  Rows rows{{}, {}, axes_of(x, indices), {}, {}, {}};
  rows.order = rows.axes.indexed;
  rows.order.insert(rows.order.end(), rows.axes.others.begin(), rows.axes.others.end());
  for (int axis : rows.order) rows.ordered.push_back(x.shape()[axis]);
  std::int64_t count = 1, width = 1;
  for (int axis : rows.axes.others) width *= x.shape()[axis];
  for (int axis : rows.axes.indexed) {
    std::int64_t size = x.shape()[axis];
    Tensor index = indices[static_cast<std::size_t>(axis)].to(i64);
    index = where(index < 0, index + size, index);
    rows.numbers = rows.numbers.defined() ? rows.numbers * size + index : index;
    count *= size;
  }
  rows.table = x.permute(rows.order).reshape({count, width});
  rows.chosen = rows.numbers.shape();
  for (int axis : rows.axes.others) rows.chosen.push_back(x.shape()[axis]);
  return rows;
}

// Where the axes of the numbers stand among those of the result.
std::vector<int> result_order(const Rows& rows) {
  int added = rows.numbers.rank(), first = rows.axes.are_neighbours() ? rows.axes.indexed[0] : 0;
  std::vector<int> order;
  for (int i = 0; i < first; ++i) order.push_back(added + i);
  for (int i = 0; i < added; ++i) order.push_back(i);
  for (int i = added + first; i < rows.chosen.rank(); ++i) order.push_back(i);
  return order;
}
std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return places;
}

bool has_index(const std::vector<Tensor>& indices) {
  return std::ranges::any_of(indices, [](const Tensor& t) { return t.defined(); });
}

// A mask stands for the places where it is true, an index tensor an axis.
std::vector<Tensor> without_masks(const std::vector<Tensor>& indices) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    if (!index.defined() || !is_boolean(index.dtype())) {
      result.push_back(index);
      continue;
    }
    Tensor places = places_of_nonzero(index);
    for (int axis = 0; axis < index.rank(); ++axis) result.push_back(places.select(1, axis));
  }
  return result;
}

}  // namespace

Tensor strided_numbers(const Shape& sizes, const Strides& strides, std::int64_t offset) {
  Tensor numbers = full(Shape(static_cast<std::size_t>(sizes.rank()), 1), offset, i64);
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    Shape along(static_cast<std::size_t>(sizes.rank()), 1);
    along[axis] = sizes[axis];
    numbers = numbers + (arange(0, sizes[axis]) * strides[axis]).reshape(along);
  }
  return numbers.expand(sizes);
}

Tensor elements_at(const Tensor& x, const Tensor& numbers) {
  if (numbers.count() == 0) return zeros(numbers.shape(), x.dtype());
  return embedding(numbers.contiguous(), x.reshape({x.count(), 1})).reshape(numbers.shape());
}

Tensor with_elements_at(const Tensor& x, const Tensor& numbers, const Tensor& values) {
  if (numbers.count() == 0) return x;
  Tensor flat = x.reshape({x.count()}).clone();
  Tensor from = values.to(x.dtype()).expand(numbers.shape());
  flat.index_copy_(0, numbers.reshape({numbers.count()}).contiguous(),
                   from.reshape({numbers.count()}).contiguous());
  return flat.reshape(x.shape());
}

Tensor indexed(const Tensor& x, const std::vector<Tensor>& given) {
  if (!has_index(given)) return x;
  Rows rows = rows_of(x, without_masks(given));
  if (element_count(rows.chosen) == 0) {
    Shape sizes;
    for (int axis : result_order(rows)) sizes.push_back(rows.chosen[axis]);
    return zeros(sizes, x.dtype());
  }
  Tensor picked = embedding(rows.numbers.contiguous(), rows.table);
  return picked.reshape(rows.chosen).permute(result_order(rows));
}

Tensor with_indexed(const Tensor& x, const std::vector<Tensor>& given, const Tensor& values) {
  if (!has_index(given)) return values.to(x.dtype()).expand(x.shape());
  Rows rows = rows_of(x, without_masks(given));
  if (element_count(rows.chosen) == 0) return x;
  std::vector<int> order = result_order(rows);
  Shape sizes;
  for (int axis : order) sizes.push_back(rows.chosen[axis]);
  Tensor from = values.to(x.dtype()).expand(sizes).permute(inverse(order));
  std::int64_t count = rows.numbers.count();
  Tensor table = rows.table.clone();
  table.index_copy_(0, rows.numbers.reshape({count}).contiguous(),
                    from.reshape({count, rows.table.size(1)}).contiguous());
  return table.reshape(rows.ordered).permute(inverse(rows.order));
}

Tensor places_of_nonzero(const Tensor& x) {
  Tensor flags = (x != 0).to(u8);
  std::vector<std::uint8_t> values = flags.to_vector<std::uint8_t>();
  Strides strides = row_major_strides(x.shape());
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    ++count;
    for (int axis = 0; axis < x.rank(); ++axis)
      places.push_back(static_cast<std::int64_t>(i) / strides[axis] % x.shape()[axis]);
  }
  return Tensor::from(places, {count, x.rank()});
}

}  // namespace tilewright::exported
