// The type of a tile IR value: a scalar, a tile of scalars, pointers likewise, or a descriptor.
//
// A tile's shape is part of its type, its layout is not (layouts stand in a side table from the
// laid-out stage on). A scalar is a tile with no axes. A descriptor stands for an array in memory
// of `desc_rank` axes whose base, sizes and strides are run-time values.
#pragma once

#include <iosfwd>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright::ir {

enum class TypeKind : std::uint8_t { value, pointer, descriptor };

struct Type {
  TypeKind kind = TypeKind::value;
  DType dtype = DType::f32;  // of the element, or of the target of a pointer or descriptor
  Shape shape;               // empty: scalar; always empty for a descriptor
  int desc_rank = 0;

  bool operator==(const Type&) const = default;
  bool is_scalar() const { return shape.empty(); }
  bool is_pointer() const { return kind == TypeKind::pointer; }
  bool is_descriptor() const { return kind == TypeKind::descriptor; }
  bool is_value() const { return kind == TypeKind::value; }
  Type with_shape(Shape s) const { return {kind, dtype, std::move(s), desc_rank}; }
  Type with_dtype(DType d) const { return {kind, d, shape, desc_rank}; }

  static Type scalar(DType dtype) { return {TypeKind::value, dtype, {}, 0}; }
  static Type tile(DType dtype, Shape shape) {
    return {TypeKind::value, dtype, std::move(shape), 0};
  }
  static Type pointer(DType dtype, Shape shape = {}) {
    return {TypeKind::pointer, dtype, std::move(shape), 0};
  }
  static Type descriptor(DType dtype, int rank) { return {TypeKind::descriptor, dtype, {}, rank}; }
};

// "f32", "f32[4x8]", "ptr<f32>", "ptr<f32>[16]", "desc<f32, 2>"
std::string to_string(const Type& type);
std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace tilewright::ir
