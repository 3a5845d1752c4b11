// Result dtype and shape of every graph op, and its legal operands: one function a rule named in
// ops.def, in the file of its family (graph/ops).
//
// The rules see operand types only, so that the graph builder, eager execution and the parser all
// raise the same Error: it begins with the op, quotes the shapes and says what would be right.
#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "graph/ir/attributes.h"
#include "graph/ir/op.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright::graph {

// What a value is; of a node with several results, that of its own value, and `others` the types
// of results 1, 2, ...
struct ValueType {
  DType dtype;
  Shape shape;
  std::vector<ValueType> others = {};
  bool operator==(const ValueType&) const = default;
};

// The type of the node's own value and, behind it, those of its other results. Operands come
// without their `others`, but for a projection's, which picks one of them. `dtype` is the choice of
// ops whose result dtype is one (to, arange, full, input); for the last two of them the shape is
// `attributes.sizes`.
ValueType infer(Op op, std::span<const ValueType> operands, const Attributes& attributes,
                std::optional<DType> dtype, std::source_location where);

// Number of elements of start, start + step, ... before end.
std::int64_t count_of_range(std::int64_t start, std::int64_t end, std::int64_t step);
// Element i of them, modulo 2^64: i * step may be beyond i64 where the element is not.
inline std::int64_t element_of_range(std::int64_t start, std::int64_t step, std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   static_cast<std::uint64_t>(i) *
                                       static_cast<std::uint64_t>(step));
}

}  // namespace tilewright::graph
