// The words that programs compare to sort: one for each element, such that words are in the order
// of elements and no two are equal.
//
// For elements of up to 32 bits a word is one i64: the element as a number whose order is its own,
// and below that 31 bits with its place. For wider ones the number alone fills an i64, and the
// place lies beside it. So a word carries the place to wherever it is moved, and any order of words
// is a stable order of elements. Words compare as signed integers.
#pragma once

#include <cstdint>

#include "graph/lower/frame.h"
#include "graph/regions/access.h"

namespace tilewright::graph {

// Rows of `size` elements, of which the places of the first `count` in order are wanted.
struct SortShape {
  SortShape(const TaskList& list, const Task& task);

  DType dtype;
  bool descending;
  std::int64_t rows, size, count;
  // Where rows and their elements lie: of the operand, of the result.
  struct Side {
    explicit Side(const StridedView& view);
    Offset of_row(const dsl::Tile& row) const;  // undefined: the first

    IndexMap rows;
    std::int64_t offset, step;
  };
  Side operand, result;
};

struct SortWords {
  dsl::Tile word, place;  // the place is undefined where the word has it
};

class SortOrder {
 public:
  explicit SortOrder(const SortShape& shape) : dtype_(shape.dtype), descending_(shape.descending) {}

  bool words_hold_places() const { return bit_width(dtype_) < 64; }
  // True if an element may come before a word that holds its place: for all that do, and for few
  // that do not. `limit`: element_of(word).
  dsl::Tile may_come_before(const dsl::Tile& elements, const dsl::Tile& limit) const;
  dsl::Tile element_of(const dsl::Tile& word) const;
  // `places` are i32.
  SortWords words_of(const dsl::Tile& elements, const dsl::Tile& places) const;
  dsl::Tile places_of(const SortWords& words) const;  // i64
  // For words that hold their places: after all words of the same number, whose rows are shorter
  // than 2^31 - 32; so are the 32 words before it.
  dsl::Tile after_all_places(const dsl::Tile& word) const;
  dsl::Tile comes_before(const SortWords& a, const SortWords& b) const;

  // The bits of a word that say its order, if its place does not; and a digit of them, an unsigned
  // number of the given bits, i64.
  int first_bit() const { return words_hold_places() ? place_bits : 0; }
  int last_bit() const { return first_bit() + bit_width(dtype_); }
  dsl::Tile digit(const dsl::Tile& word, const dsl::Tile& shift, int bits) const;

 private:
  static constexpr int place_bits = 31;
  dsl::Tile number_of(const dsl::Tile& elements) const;

  DType dtype_;
  bool descending_;
};

// An array of words in memory. Indices are i64; `mask` may be undefined.
struct WordMemory {
  dsl::Tile words, places;  // pointers; the latter undefined where words hold places

  SortWords load(const dsl::Tile& index, const dsl::Tile& mask = {}) const;
  void store(const dsl::Tile& index, const SortWords& value, const dsl::Tile& mask = {}) const;
  WordMemory from(const dsl::Tile& index) const;  // the array that begins there
};

}  // namespace tilewright::graph
