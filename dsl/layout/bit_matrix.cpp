#include "dsl/layout/bit_matrix.h"

#include <bit>

#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

// Columns in echelon form, each with the combination of given columns that makes it.
class Echelon {
 public:
  explicit Echelon(const BitMatrix& matrix) {
    for (int c = 0; c < matrix.columns(); ++c) {
      Entry entry = reduced({matrix.column(c), std::uint64_t{1} << c});
      if (entry.value == 0) {
        kernel_.push_back(entry.combination);
      } else {
        independent_ |= std::uint64_t{1} << c;
        pivots_.push_back(entry);
      }
    }
  }

  int rank() const { return static_cast<int>(pivots_.size()); }
  std::uint64_t independent() const { return independent_; }
  const std::vector<std::uint64_t>& kernel() const { return kernel_; }
  std::optional<std::uint64_t> solve(std::uint64_t image) const {
    Entry rest = reduced({image, 0});
    if (rest.value != 0) return std::nullopt;
    return rest.combination;
  }

 private:
  struct Entry {
    std::uint64_t value, combination;
  };
  // Later pivots have been reduced by the earlier ones: one walk in order clears all leading bits.
  Entry reduced(Entry entry) const {
    for (const Entry& pivot : pivots_)
      if (entry.value & std::bit_floor(pivot.value)) {
        entry.value ^= pivot.value;
        entry.combination ^= pivot.combination;
      }
    return entry;
  }

  std::vector<Entry> pivots_;
  std::vector<std::uint64_t> kernel_;
  std::uint64_t independent_ = 0;
};

}  // namespace

int log_of(std::int64_t count) {
  check(count > 0 && std::has_single_bit(static_cast<std::uint64_t>(count)),
        "layouts count in powers of two");
  return std::countr_zero(static_cast<std::uint64_t>(count));
}

BitMatrix::BitMatrix(int rows, std::vector<std::uint64_t> columns)
    : rows_(rows), columns_(std::move(columns)) {
  check(rows >= 0 && rows <= 64 && columns_.size() <= 64, "a bit matrix is at most 64x64");
  for (std::uint64_t column : columns_)
    check(static_cast<int>(std::bit_width(column)) <= rows,
          "a column of a bit matrix has more bits than rows");
}

BitMatrix BitMatrix::identity(int size) {
  std::vector<std::uint64_t> columns;
  for (int i = 0; i < size; ++i) columns.push_back(std::uint64_t{1} << i);
  return {size, std::move(columns)};
}

std::uint64_t BitMatrix::apply(std::uint64_t index) const {
  check(static_cast<int>(std::bit_width(index)) <= columns(),
        "an index has more bits than the matrix has columns");
  std::uint64_t image = 0;
  for (; index != 0; index &= index - 1) image ^= column(std::countr_zero(index));
  return image;
}

int BitMatrix::rank() const { return Echelon(*this).rank(); }
std::vector<std::uint64_t> BitMatrix::kernel() const { return Echelon(*this).kernel(); }
std::uint64_t BitMatrix::independent_columns() const { return Echelon(*this).independent(); }

std::optional<std::uint64_t> BitMatrix::solve(std::uint64_t image) const {
  return Echelon(*this).solve(image);
}

std::optional<BitMatrix> BitMatrix::right_inverse() const {
  Echelon echelon(*this);
  std::vector<std::uint64_t> solutions;
  for (int r = 0; r < rows_; ++r) {
    auto solution = echelon.solve(std::uint64_t{1} << r);
    if (!solution) return std::nullopt;
    solutions.push_back(*solution);
  }
  return BitMatrix(columns(), std::move(solutions));
}

BitMatrix BitMatrix::column_range(int first, int count) const {
  check(first >= 0 && count >= 0 && first + count <= columns(), "no such columns");
  return {rows_, {columns_.begin() + first, columns_.begin() + first + count}};
}

BitMatrix compose(const BitMatrix& outer, const BitMatrix& inner) {
  check(outer.columns() == inner.rows(), "the inner matrix's rows differ from the outer's columns");
  std::vector<std::uint64_t> columns;
  for (int c = 0; c < inner.columns(); ++c) columns.push_back(outer.apply(inner.column(c)));
  return {outer.rows(), std::move(columns)};
}

BitMatrix direct_sum(const BitMatrix& low, const BitMatrix& high) {
  std::vector<std::uint64_t> columns;
  for (int c = 0; c < low.columns(); ++c) columns.push_back(low.column(c));
  // A shift by all 64 bits is none: then no row is left for `high`, whose columns are 0.
  for (int c = 0; c < high.columns(); ++c)
    columns.push_back(low.rows() == 64 ? 0 : high.column(c) << low.rows());
  return {low.rows() + high.rows(), std::move(columns)};
}

BitMatrix join_columns(const BitMatrix& low, const BitMatrix& high) {
  check(low.rows() == high.rows(), "columns of different heights");
  std::vector<std::uint64_t> columns;
  for (int c = 0; c < low.columns(); ++c) columns.push_back(low.column(c));
  for (int c = 0; c < high.columns(); ++c) columns.push_back(high.column(c));
  return {low.rows(), std::move(columns)};
}

std::string to_string(const BitMatrix& matrix) {
  std::string text;
  for (int r = 0; r < matrix.rows(); ++r) {
    for (int c = 0; c < matrix.columns(); ++c) text += (matrix.column(c) >> r & 1) ? '1' : '.';
    text += '\n';
  }
  return text;
}

}  // namespace tilewright::dsl::layout
