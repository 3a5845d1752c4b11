// Matrices over F2, the field of two elements, where adding is XOR.
//
// Everything that layouts do (composing, inverting, counting bank conflicts) is linear algebra on
// the bits of indices. A column is a machine word: bit r of column c is the entry at row r. So a
// matrix maps an index of `columns()` bits to one of `rows()` bits, and applying it XORs the
// columns whose bits are set in the index. There are at most 64 rows and 64 columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright::dsl::layout {

// The bits of the indices below `count`, a power of two.
int log_of(std::int64_t count);

class BitMatrix {
 public:
  BitMatrix(int rows, std::vector<std::uint64_t> columns);
  static BitMatrix identity(int size);

  int rows() const { return rows_; }
  int columns() const { return static_cast<int>(columns_.size()); }
  std::uint64_t column(int index) const { return columns_[static_cast<std::size_t>(index)]; }

  std::uint64_t apply(std::uint64_t index) const;
  int rank() const;
  bool is_onto() const { return rank() == rows_; }
  // A basis of the indices that are mapped to 0.
  std::vector<std::uint64_t> kernel() const;
  // The columns that do not depend on those before them, as a set of bits.
  std::uint64_t independent_columns() const;
  // An index that is mapped to `image`, made of independent columns alone: where several exist, the
  // one that does with the earliest columns. Nothing where none exists.
  std::optional<std::uint64_t> solve(std::uint64_t image) const;
  // The map X with compose(*this, X) == identity(rows()), by `solve`. Nothing unless onto.
  std::optional<BitMatrix> right_inverse() const;
  // The matrix of the columns `first` to `first + count - 1`.
  BitMatrix column_range(int first, int count) const;

  bool operator==(const BitMatrix&) const = default;
  Hash hash() const { return Hasher().add(rows_).add(columns_).finish(); }

 private:
  int rows_;
  std::vector<std::uint64_t> columns_;
};

// First `inner`, then `outer`.
BitMatrix compose(const BitMatrix& outer, const BitMatrix& inner);
// `low` on the low bits and `high` on the high bits, of indices and of images.
BitMatrix direct_sum(const BitMatrix& low, const BitMatrix& high);
// The columns of `low`, then those of `high`; the rows are the same.
BitMatrix join_columns(const BitMatrix& low, const BitMatrix& high);

std::string to_string(const BitMatrix& matrix);  // a line a row, "1.1"

}  // namespace tilewright::dsl::layout
