#include "dsl/layout/shared.h"

#include <bit>

#include "dsl/layout/layout.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

std::uint64_t bit_of(int index) { return std::uint64_t{1} << index; }

// Bits of the last axis, which is a row's.
int column_bits(const Shape& physical) {
  return physical.empty() ? 0 : log_of(physical[physical.rank() - 1]);
}

}  // namespace

SharedLayout::SharedLayout(Shape physical, int element_bytes, BitMatrix element_order,
                           int swizzle_bytes)
    : shape_(std::move(physical)),
      element_bytes_(element_bytes),
      swizzle_bytes_(swizzle_bytes),
      element_order_(std::move(element_order)) {
  for (std::int64_t size : shape_) log_of(size);
  check(log_of(element_bytes) <= 4, "an element has at most 16 bytes");
  int bits = element_bits(shape_);
  check(
      element_order_.rows() == bits && element_order_.columns() == bits && element_order_.is_onto(),
      "a layout of shared memory gives every element a place of its own");
}

SharedLayout SharedLayout::linear(Shape physical, int element_bytes, BitMatrix element_order) {
  return {std::move(physical), element_bytes, std::move(element_order), 0};
}

SharedLayout SharedLayout::row_major(Shape physical, int element_bytes) {
  BitMatrix order = BitMatrix::identity(element_bits(physical));
  return {std::move(physical), element_bytes, std::move(order), 0};
}

SharedLayout SharedLayout::xor_swizzled(Shape physical, int element_bytes, int vec, int per_phase,
                                        int max_phase) {
  int columns = column_bits(physical), first_chunk = log_of(vec), first_row = log_of(per_phase);
  check(first_chunk + log_of(max_phase) <= columns, "a row has fewer chunks than its swizzle");
  std::vector<std::uint64_t> order;
  for (int bit = 0; bit < element_bits(physical); ++bit) {
    order.push_back(bit_of(bit));
    int phase = bit - columns - first_row;
    if (bit >= columns && phase >= 0 && phase < log_of(max_phase))
      order.back() ^= bit_of(first_chunk + phase);
  }
  BitMatrix matrix(element_bits(physical), std::move(order));
  return {std::move(physical), element_bytes, std::move(matrix), 0};
}

SharedLayout SharedLayout::tma(Shape physical, int element_bytes, int swizzle_bytes) {
  check(swizzle_bytes == 32 || swizzle_bytes == 64 || swizzle_bytes == 128,
        "TMA swizzles 32, 64 or 128 bytes");
  int bits = element_bits(physical), columns = column_bits(physical), rows = bits - columns;
  int size = log_of(element_bytes), in_box = log_of(swizzle_bytes) - size;
  check(in_box >= 0 && in_box <= columns && size <= 4, "a row is narrower than its swizzle");
  int swizzled = log_of(swizzle_bytes) - 4;  // how many bits of a chunk's number change
  std::vector<std::uint64_t> order;
  for (int bit = 0; bit < bits; ++bit) {
    int to = bit;  // columns of the box, then rows, then the number of the box
    if (bit >= columns) to = bit - columns + in_box;
    if (bit >= in_box && bit < columns) to = bit + rows;
    order.push_back(bit_of(to));
    int offset_bit = to + size;
    if (offset_bit >= 7 && offset_bit < 7 + swizzled) order.back() ^= bit_of(to - 3);
  }
  return {std::move(physical), element_bytes, BitMatrix(bits, std::move(order)), swizzle_bytes};
}

std::int64_t SharedLayout::offset(const std::vector<std::int32_t>& coordinates) const {
  return static_cast<std::int64_t>(element_order_.apply(flat_index(shape_, coordinates))) *
         element_bytes_;
}

BitMatrix SharedLayout::offset_matrix() const {
  std::vector<std::uint64_t> columns;
  for (int bit = 0; bit < element_order_.columns(); ++bit)
    columns.push_back(element_order_.column(bit) << log_of(element_bytes_));
  return {element_order_.rows() + log_of(element_bytes_), std::move(columns)};
}

Hash SharedLayout::hash() const {
  return Hasher()
      .add(shape_)
      .add(element_bytes_)
      .add(swizzle_bytes_)
      .add(element_order_.hash())
      .finish();
}

SharedLayout permute(const SharedLayout& shared, const std::vector<int>& dims) {
  const Shape& from = shared.shape();
  check(dims.size() == from.size(), "a permutation names another number of axes");
  Shape shape;
  for (int dim : dims) shape.push_back(from[dim]);
  std::vector<std::uint64_t> order;
  for (int bit = 0; bit < element_bits(shape); ++bit) {
    Layout::Basis to = coordinates_of(shape, bit_of(bit)), at(to.size());
    for (std::size_t i = 0; i < dims.size(); ++i) at[static_cast<std::size_t>(dims[i])] = to[i];
    order.push_back(shared.element_order().apply(flat_index(from, at)));
  }
  BitMatrix matrix(element_bits(shape), std::move(order));
  return SharedLayout::linear(std::move(shape), shared.element_bytes(), std::move(matrix));
}

std::string to_string(const SharedLayout& shared) {
  std::string text = concat(shared.shape(), " of ", shared.element_bytes(), " bytes");
  if (shared.swizzle_bytes()) text += concat(", TMA swizzle of ", shared.swizzle_bytes());
  text += "\noffset: ";
  BitMatrix offsets = shared.offset_matrix();
  for (int bit = 0; bit < offsets.columns(); ++bit) text += concat(" ", offsets.column(bit));
  return text + "\n";
}

}  // namespace tilewright::dsl::layout
