// The elements of a tile as the interpreter has computed them, to be read while debugging a kernel.
// Apart from the interpreter's own data (dsl/interpret/tile_data.h), which is not public.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/ir/type.h"

namespace tilewright::ir {
struct TileData;
}  // namespace tilewright::ir

namespace tilewright::dsl {

// Valid for as long as the call that it was given to. A scalar has no axes and one element;
// elements are counted in row-major order.
class TileView {
 public:
  // `array` is the name of the parameter that a pointer comes from, `base` its address.
  TileView(const ir::Type& type, const ir::TileData& data, std::string_view array = {},
           std::int64_t base = 0)
      : type_(&type), data_(&data), array_(array), base_(base) {}

  const ir::Type& type() const { return *type_; }
  DType dtype() const { return type_->dtype; }
  const Shape& shape() const { return type_->shape; }
  bool is_pointer() const { return type_->is_pointer(); }
  std::int64_t count() const;
  // Integers above 2^53 are rounded; a bool is 0 or 1, a pointer its address.
  double number(std::int64_t element) const;
  std::int64_t integer(std::int64_t element) const;  // of integers, bools and pointers; else 0
  std::vector<double> numbers() const;
  // "0.5", "-7", "true", of a pointer "x[12]", or its address if it is one of several arrays; as
  // many digits as tell a number of the type from its neighbours.
  std::string text(std::int64_t element) const;
  // "[0, 0.5, 1, ... 62 more]", or the value of a scalar, without brackets.
  std::string summary(std::int64_t most = 8) const;
  // {row, column} of an element.
  std::vector<std::int64_t> index_of(std::int64_t element) const;

 private:
  const ir::Type* type_;
  const ir::TileData* data_;
  std::string_view array_;
  std::int64_t base_;
};

// "[1, 3]"
std::string index_text(const std::vector<std::int64_t>& index);

}  // namespace tilewright::dsl
