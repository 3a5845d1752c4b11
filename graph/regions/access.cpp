#include "graph/regions/access.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// Appends the offsets of memory(stride * 0), memory(stride * 1), ... as modes.
bool compose_mode(const IndexMap& memory, Mode mode, std::vector<Mode>& result) {
  if (mode.stride == 0) {
    result.push_back(mode);
    return true;
  }
  std::int64_t skip = mode.stride, left = mode.size;
  for (const Mode& m : memory.modes()) {
    if (skip >= m.size) {
      if (skip % m.size != 0) return false;
      skip /= m.size;
      continue;
    }
    if ((left - 1) * skip < m.size) {  // ends within this mode
      result.push_back({left, m.stride * skip});
      return true;
    }
    if (m.size % skip != 0 || left % (m.size / skip) != 0) return false;
    result.push_back({m.size / skip, m.stride * skip});
    left /= m.size / skip;
    skip = 1;
  }
  return false;
}

}  // namespace

IndexMap::IndexMap(const std::vector<Mode>& modes) {
  for (const Mode& mode : modes) {
    if (mode.size == 1) continue;
    if (!modes_.empty() && mode.stride == modes_.back().size * modes_.back().stride)
      modes_.back().size *= mode.size;
    else
      modes_.push_back(mode);
  }
}

std::int64_t IndexMap::size() const {
  std::int64_t product = 1;
  for (const Mode& mode : modes_) product *= mode.size;
  return product;
}

std::int64_t IndexMap::operator()(std::int64_t index) const {
  std::int64_t offset = 0;
  for (const Mode& mode : modes_) {
    offset += index % mode.size * mode.stride;
    index /= mode.size;
  }
  return offset;
}

IndexMap index_map(const StridedView& view) { return index_map(view, 0, view.shape.rank()); }
IndexMap index_map(const StridedView& view, int begin, int end) {
  std::vector<Mode> modes;
  for (int axis = end; axis-- > begin;) modes.push_back({view.shape[axis], view.strides[axis]});
  return IndexMap(modes);
}

IndexMap axes_map(const Shape& shape, int begin, int end) {
  Strides strides = row_major_strides(shape);
  std::vector<Mode> modes;
  for (int axis = end; axis-- > begin;) modes.push_back({shape[axis], strides[axis]});
  return IndexMap(modes);
}

IndexMap other_axes_map(const Shape& shape, int begin, int end) {
  Strides strides = row_major_strides(shape);
  std::vector<Mode> modes;
  for (int axis = shape.rank(); axis-- > 0;)
    if (axis < begin || axis >= end) modes.push_back({shape[axis], strides[axis]});
  return IndexMap(modes);
}

std::optional<StridedView> with_axes(const StridedView& view, const Shape& shape) {
  StridedView result = view;
  result.shape = shape;
  result.strides = Strides(std::vector<std::int64_t>(shape.size(), 0));
  int from = 0;
  auto skip_ones = [&] {
    while (from < view.shape.rank() && view.shape[from] == 1) ++from;
  };
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    skip_ones();
    if (from == view.shape.rank() || view.shape[from] != shape[axis]) return std::nullopt;
    result.strides[axis] = view.strides[from++];
  }
  skip_ones();
  if (from < view.shape.rank()) return std::nullopt;
  return result;
}

std::optional<IndexMap> compose(const IndexMap& memory, const IndexMap& numbering) {
  std::vector<Mode> modes;
  for (const Mode& mode : numbering.modes())
    if (!compose_mode(memory, mode, modes)) return std::nullopt;
  return IndexMap(modes);
}

std::optional<IndexMap> inverse(const IndexMap& map) {
  struct Digit {
    Mode mode;
    std::int64_t below;  // of the index
  };
  std::vector<Digit> digits;
  std::int64_t below = 1;
  for (const Mode& mode : map.modes()) {
    digits.push_back({mode, below});
    below *= mode.size;
  }
  std::ranges::sort(digits, {}, [](const Digit& digit) { return digit.mode.stride; });
  std::vector<Mode> modes;
  std::int64_t stride = 1;
  for (const Digit& digit : digits) {
    if (digit.mode.stride != stride) return std::nullopt;
    stride *= digit.mode.size;
    modes.push_back({digit.mode.size, digit.below});
  }
  return IndexMap(modes);
}

std::optional<TableAccess> compose(const StridedView& view, const TableAccess& table) {
  IndexMap memory = index_map(view);
  auto rows = compose(memory, table.rows), columns = compose(memory, table.columns);
  if (!rows || !columns) return std::nullopt;
  check(table.offset == 0, "a table of a whole value begins at its first element");
  return TableAccess{*rows, *columns, view.offset};
}

bool RowDigits::add(const IndexMap& map) {
  std::vector<std::int64_t> merged = bounds_;
  std::int64_t bound = 1;
  for (const Mode& mode : map.modes()) merged.push_back(bound *= mode.size);
  std::ranges::sort(merged);
  merged.erase(std::ranges::unique(merged).begin(), merged.end());
  for (std::size_t i = 1; i < merged.size(); ++i)
    if (merged[i] % merged[i - 1] != 0) return false;
  bounds_ = std::move(merged);
  return true;
}

std::vector<std::int64_t> RowDigits::sizes() const {
  std::vector<std::int64_t> result;
  std::int64_t below = 1;
  for (std::int64_t bound : bounds_) {
    if (bound > below) result.push_back(bound / below);
    below = bound;
  }
  return result;
}

std::vector<std::int64_t> RowDigits::strides(const IndexMap& map) const {
  std::vector<std::int64_t> result;
  std::int64_t below = 1;
  for (std::int64_t bound : bounds_) {
    if (bound == below) continue;
    result.push_back(below < map.size() ? map(below) : 0);
    below = bound;
  }
  return result;
}

}  // namespace tilewright::graph
