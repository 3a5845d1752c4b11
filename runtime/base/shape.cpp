#include "runtime/base/shape.h"

#include <algorithm>
#include <ostream>

#include "runtime/base/error.h"

namespace tilewright {

namespace {

// A product that may overflow: sizes are arbitrary in a shape that is empty because another size is
// 0.
std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

void Shape::axis_outside(int axis) const {
  raise_error(concat("[shape] axis ", axis, " of a tensor of rank ", rank(), " (", *this,
                     "); the axis must be in [", -rank(), ", ", rank(), ")"));
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool fits = true;
  for (std::int64_t size : shape) fits &= !__builtin_mul_overflow(count, size, &count);
  if (fits) [[likely]]
    return count;
  bool is_empty = std::ranges::find(shape, 0) != shape.end();
  require(is_empty, "[shape] ", shape, " has 2^63 elements or more; fewer can be counted");
  return 0;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step = wrapping_product(step, shape[axis]);
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step = wrapping_product(step, shape[axis]);
  }
  return true;
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  int rank = std::max(a.rank(), b.rank());
  Shape result(static_cast<std::size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    std::int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[-i] = x == 1 ? y : x;
  }
  return result;
}

std::optional<int> normalise_axis(int axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::string to_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

}  // namespace tilewright
