// Shapes and strides: short lists of 64-bit sizes, in elements, outermost axis first.
//
// A shape with no axes is a scalar of one element. Strides may be 0 (a broadcast axis). The rules
// that several rooms need (row-major strides, broadcasting, axis normalisation) live here and
// nowhere else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// A list of sizes. A regular value: comparable, hashable, printable as "4x8" ("scalar" if empty).
class Shape : public std::vector<std::int64_t> {
 public:
  using std::vector<std::int64_t>::vector;
  Shape(std::vector<std::int64_t> sizes) : std::vector<std::int64_t>(std::move(sizes)) {}
  int rank() const { return static_cast<int>(size()); }
  // Negative axes count from the end: x[-1] is the last. `Error` for an axis that is not there.
  std::int64_t operator[](int axis) const {
    return std::vector<std::int64_t>::operator[](place_of(axis));
  }
  std::int64_t& operator[](int axis) {
    return std::vector<std::int64_t>::operator[](place_of(axis));
  }
  std::int64_t back() const { return (*this)[-1]; }
  std::int64_t& back() { return (*this)[-1]; }
  std::int64_t front() const { return (*this)[0]; }
  std::int64_t& front() { return (*this)[0]; }

 private:
  std::size_t place_of(int axis) const {
    const auto place = static_cast<std::size_t>(axis < 0 ? axis + rank() : axis);
    if (place >= size()) [[unlikely]]
      axis_outside(axis);
    return place;
  }
  [[noreturn]] void axis_outside(int axis) const;
};
using Strides = Shape;

std::int64_t element_count(const Shape& shape);  // product, 1 for a scalar; `Error` from 2^63 on
Strides row_major_strides(const Shape& shape);
bool is_row_major(const Shape& shape, const Strides& strides);  // axes of size 1 do not matter
// The shape both broadcast to by NumPy's rule, or nothing where they do not.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);
// The axis in [0, rank), or nothing where `axis` is outside [-rank, rank).
std::optional<int> normalise_axis(int axis, int rank);

std::string to_string(const Shape& shape);  // "4x8", "scalar"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace tilewright
