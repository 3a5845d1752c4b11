#include "graph/lower/sort/sort_words.h"

#include <limits>

namespace tilewright::graph {

using dsl::Tile;

namespace {

DType integer_of_width(int bits) {
  if (bits == 64) return DType::i64;
  return bits == 32 ? DType::i32 : DType::i16;
}

// Bits of a float as an integer of the same order. Those of negative numbers count downwards; the
// zeros become one number, and so do the NaN, the greatest.
Tile ordered_bits(const Tile& x) {
  const DType dtype = x.dtype(), integer = integer_of_width(bit_width(dtype));
  const int width = bit_width(dtype);
  const std::int64_t magnitude_mask = std::numeric_limits<std::int64_t>::max() >> (64 - width);
  const int mantissa_bits = digits(dtype) - 1;
  const std::int64_t infinity = magnitude_mask >> mantissa_bits << mantissa_bits;
  Tile bits = dsl::cast(dsl::bitcast(x, integer), DType::i64);
  Tile magnitude = bits & magnitude_mask;
  Tile number = dsl::where(bits < 0, -magnitude, magnitude);
  return dsl::where(magnitude > infinity, magnitude_mask, number);
}

// An element of these bits.
Tile of_ordered_bits(const Tile& number, DType dtype) {
  const std::int64_t sign = std::int64_t{1} << (bit_width(dtype) - 1);
  Tile bits = dsl::where(number < 0, -number | sign, number);
  return dsl::bitcast(dsl::cast(bits, integer_of_width(bit_width(dtype))), dtype);
}

}  // namespace

SortShape::Side::Side(const StridedView& view)
    : offset(view.offset), step(view.strides[view.shape.rank() - 1]) {
  StridedView leading;
  for (int axis = 0; axis + 1 < view.shape.rank(); ++axis) {
    leading.shape.push_back(view.shape[axis]);
    leading.strides.push_back(view.strides[axis]);
  }
  rows = index_map(leading);
}

Offset SortShape::Side::of_row(const Tile& row) const {
  Offset result(offset);
  if (!row.defined()) return result;
  Tile rest = row;
  for (std::size_t i = 0; i < rows.modes().size(); ++i) {
    const Mode& mode = rows.modes()[i];
    const bool is_last = i + 1 == rows.modes().size();
    result.add(is_last ? rest : rest % mode.size, mode.stride);
    if (!is_last) rest = rest / mode.size;
  }
  return result;
}

SortShape::SortShape(const TaskList& list, const Task& task)
    : dtype(list.storages[task.operands[0].storage].dtype),
      descending(task.attributes.descending),
      rows(task.count() / task.shape[-1]),
      size(task.operands[0].view.shape[-1]),
      count(task.shape[-1]),
      operand(task.operands[0].view),
      result(task.place) {}

// Numbers of up to 32 bits are from 0 on; of 64 bits any i64.
Tile SortOrder::number_of(const Tile& elements) const {
  const int width = bit_width(dtype_);
  const bool is_wide = width == 64;
  Tile number = is_floating(dtype_)             ? ordered_bits(elements)
                : is_wide && !is_signed(dtype_) ? dsl::bitcast(elements, DType::i64)
                                                : dsl::cast(elements, DType::i64);
  const bool is_unsigned = !is_floating(dtype_) && !is_signed(dtype_);
  if (is_wide && is_unsigned) number = number ^ std::numeric_limits<std::int64_t>::min();
  if (is_wide) return descending_ ? ~number : number;
  if (!is_unsigned) number = number + (std::int64_t{1} << (width - 1));
  return descending_ ? ((std::int64_t{1} << width) - 1) - number : number;
}

Tile SortOrder::element_of(const Tile& word) const {
  const int width = bit_width(dtype_);
  Tile number = word >> place_bits;
  if (descending_) number = ((std::int64_t{1} << width) - 1) - number;
  if (is_floating(dtype_) || is_signed(dtype_)) number = number - (std::int64_t{1} << (width - 1));
  return is_floating(dtype_) ? of_ordered_bits(number, dtype_) : dsl::cast(number, dtype_);
}

// Comparisons are wrong where a side is not a number.
Tile SortOrder::may_come_before(const Tile& elements, const Tile& limit) const {
  return descending_ ? !(elements < limit) : !(elements > limit);
}

SortWords SortOrder::words_of(const Tile& elements, const Tile& places) const {
  Tile number = number_of(elements);
  if (!words_hold_places()) return {number, places};
  return {(number << place_bits) | dsl::cast(places, DType::i64), {}};
}

Tile SortOrder::places_of(const SortWords& words) const {
  if (!words_hold_places()) return dsl::cast(words.place, DType::i64);
  return words.word & ((std::int64_t{1} << place_bits) - 1);
}

Tile SortOrder::after_all_places(const Tile& word) const {
  return word | ((std::int64_t{1} << place_bits) - 1);
}

Tile SortOrder::comes_before(const SortWords& a, const SortWords& b) const {
  if (words_hold_places()) return a.word < b.word;
  return (a.word < b.word) | ((a.word == b.word) & (a.place < b.place));
}

Tile SortOrder::digit(const Tile& word, const Tile& shift, int bits) const {
  Tile number = words_hold_places() ? word : Tile(word ^ std::numeric_limits<std::int64_t>::min());
  return (number >> shift) & ((std::int64_t{1} << bits) - 1);
}

namespace {

Tile load_at(const Tile& pointer, const Tile& index, const Tile& mask) {
  return mask.defined() ? dsl::load(pointer + index, mask) : dsl::load(pointer + index);
}
void store_at(const Tile& pointer, const Tile& index, const Tile& value, const Tile& mask) {
  if (mask.defined())
    dsl::store(pointer + index, value, mask);
  else
    dsl::store(pointer + index, value);
}

}  // namespace

SortWords WordMemory::load(const Tile& index, const Tile& mask) const {
  return {load_at(words, index, mask), places.defined() ? load_at(places, index, mask) : Tile()};
}
void WordMemory::store(const Tile& index, const SortWords& value, const Tile& mask) const {
  store_at(words, index, value.word, mask);
  if (places.defined()) store_at(places, index, value.place, mask);
}
WordMemory WordMemory::from(const Tile& index) const {
  return {words + index, places.defined() ? Tile(places + index) : Tile()};
}

}  // namespace tilewright::graph
