// How the operands of one operation of the language come to fit each other: numbers take an element
// type, shapes broadcast. Separate from the operations, which all share these rules.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dsl/language/tracer.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

// One use of an operation in a kernel: where messages point and instructions are appended.
class OperationUse {
 public:
  // The tracer is this thread's innermost; raises `Error` without one.
  OperationUse(std::string_view operation, std::source_location where)
      : operation_(operation), where_(where), tracer_(Tracer::current(operation, where)) {}

  Tracer& tracer() const { return tracer_; }
  std::string_view operation() const { return operation_; }
  std::source_location where() const { return where_; }

  // Raises `Error` with line and operation in front unless `condition` holds.
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise_error(concat(describe(where_), ": [", operation_, "] ", parts...));
  }
  Tile append(ir::Op op, const std::vector<Tile>& operands, ir::Immediate immediate = {}) const {
    return tracer_.append(op, operands, std::move(immediate), where_);
  }
  // The operand as it stands; a lone C++ number becomes an f32 or i64 scalar.
  Tile tile(const Operand& operand) const;
  // The operand; a C++ number becomes a scalar of `dtype`.
  Tile tile(const Operand& operand, DType dtype) const;
  // NumPy's rule towards a given shape: axes of size 1 are added in front, then repeated.
  Tile broadcast(const Tile& tile, const Shape& shape) const;
  // A C++ number fills `type`; a tile must have its dtype and broadcast to its shape.
  Tile fit(const Operand& operand, const ir::Type& type, std::string_view role) const;
  // All of one dtype (C++ numbers take that of the tiles) and of one shape.
  std::vector<Tile> unify(std::span<const Operand> operands) const;
  std::vector<Tile> broadcast_together(std::vector<Tile> tiles) const;
  int axis(int axis, int rank) const;  // not negative; raises `Error` where outside

 private:
  std::string_view operation_;
  std::source_location where_;
  Tracer& tracer_;
};

}  // namespace tilewright::dsl
