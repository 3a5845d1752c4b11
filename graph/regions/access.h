// How a program walks through memory: index maps and their composition.
//
// A tile program sees every value as a table of rows and columns, while the value lies in memory as
// a tensor of any rank behind any chain of views. An IndexMap joins the two: a function from a flat
// index to an offset, given by modes {size, stride}, innermost first. The flat index counts through
// the modes as through digits; the offset is the sum of digit times stride. A row-major [2, 3]
// tensor is {(3, 1), (2, 3)}, in canonical form just {(6, 1)}; its transpose is {(2, 3), (3, 1)}; a
// broadcast axis has stride 0.
//
// Maps compose: if a value's elements are numbered by one map and lie in memory by another,
// compose(memory, numbering) tells where they lie; it has no answer where the result is not such a
// function (a mode would have to be cut at a place that does not divide it). So that every question
// of fusion, "is row r, column c of this value what row r, column c of its consumer reads?", is one
// composition and one comparison. (The algebra is that of layouts in CUTLASS's CuTe.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/strided_view.h"

namespace tilewright::graph {

struct Mode {
  std::int64_t size, stride;
  bool operator==(const Mode&) const = default;
};

// Canonical: no mode of size 1, no two neighbours that could be one. The size of the domain is the
// product of the sizes.
class IndexMap {
 public:
  IndexMap() = default;  // one index, offset 0
  explicit IndexMap(const std::vector<Mode>& modes);
  const std::vector<Mode>& modes() const { return modes_; }
  std::int64_t size() const;
  std::int64_t operator()(std::int64_t index) const;
  bool is_constant() const { return modes_.empty() || (modes_.size() == 1 && !modes_[0].stride); }
  bool operator==(const IndexMap&) const = default;

 private:
  std::vector<Mode> modes_;
};

// From the row-major index of the strided view's shape to its offset, less the strided view's own.
IndexMap index_map(const StridedView& view);
IndexMap index_map(const StridedView& view, int begin, int end);  // of these axes alone
// The axes [begin, end) of a row-major tensor of this shape, and all the other axes.
IndexMap axes_map(const Shape& shape, int begin, int end);
IndexMap other_axes_map(const Shape& shape, int begin, int end);
// The view with axes of another shape, or nothing where others than axes of size 1 differ.
std::optional<StridedView> with_axes(const StridedView& view, const Shape& shape);
// i -> memory(numbering(i)), or nothing where that is no IndexMap. The modes of the numbering must
// be digits of one number, as axes of a row-major tensor are: no sum of them carries.
std::optional<IndexMap> compose(const IndexMap& memory, const IndexMap& numbering);
// i -> the index that `map` gives the offset i; nothing where it is not a permutation.
std::optional<IndexMap> inverse(const IndexMap& map);

// Where a program finds row r, column c of a value: at offset + rows(r) + columns(c).
struct TableAccess {
  IndexMap rows, columns;
  std::int64_t offset = 0;
  bool operator==(const TableAccess&) const = default;
};
// `view` seen in the table whose element (r, c) has the row-major index rows(r) + columns(c).
std::optional<TableAccess> compose(const StridedView& view, const TableAccess& table);

// A way to cut the row index into digits of given sizes, innermost first, such that every map that
// was added is one stride a digit.
class RowDigits {
 public:
  explicit RowDigits(std::int64_t rows) : rows_(rows) { bounds_ = {rows}; }
  // False where the map's digits and those added before do not nest.
  bool add(const IndexMap& map);
  std::vector<std::int64_t> sizes() const;
  // The stride of each digit.
  std::vector<std::int64_t> strides(const IndexMap& map) const;

 private:
  std::int64_t rows_;
  std::vector<std::int64_t> bounds_;  // products of sizes from the innermost, ascending
};

}  // namespace tilewright::graph
