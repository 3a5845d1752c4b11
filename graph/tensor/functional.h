// Applying graph ops to tensors: the layer between the user's functions (tensor.h) and the two ways
// of executing them, recording in the active capture or running at once.
//
// Graph ops want operands of equal shapes and dtypes; broadcasting, promotion and the dtype of
// numbers are settled here, once for both ways.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Every operation on tensors goes through here: it appends a node where a capture is active on this
// thread, and runs as a compiled kernel otherwise. `dtype` is the choice of ops that have one.
Tensor apply(Op op, std::span<const Tensor> operands, const Attributes& attributes,
             std::source_location where, std::optional<DType> dtype = std::nullopt);
inline Tensor apply(Op op, std::initializer_list<Tensor> operands, const Attributes& attributes,
                    std::source_location where, std::optional<DType> dtype = std::nullopt) {
  return apply(op, std::span(operands.begin(), operands.size()), attributes, where, dtype);
}

// Each result of an op that has several.
std::vector<Tensor> apply_all(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                              std::source_location where);

// A function of several ops: inside a capture they are recorded one by one; else it runs as one
// operation, captured once for its settings and the types of its operands (graph/tensor/eager.h).
// It depends on nothing else, looks at no data, and has its name alone. Operands may be undefined,
// and are so for the function.
using TensorsFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
std::vector<Tensor> apply_function(std::string_view name, std::span<const Tensor> operands,
                                   const std::vector<Number>& settings,
                                   const TensorsFunction& function, std::source_location where);

// The same for a function of one result, which has the type of the first operand and is written to
// it. Raises `Error` where that cannot be written.
void write_function(std::string_view name, std::span<const Tensor> operands,
                    const std::vector<Number>& settings, const TensorsFunction& function,
                    std::source_location where);

// A view op: metadata only on a concrete tensor; nothing where a reshape of one is no view.
std::optional<Tensor> apply_view(Op op, const Tensor& tensor, const Attributes& attributes,
                                 std::source_location where);

// The tensor with every element `number`; concrete ones hold one element and are expanded. Integers
// wrap to the width of `dtype`.
Tensor constant(DType dtype, const Shape& shape, const Number& number, std::source_location where);

// Raises `Error` unless `dtype` holds the number; a fraction loses what an integer has no place
// for, and negative numbers wrap to unsigned ones, as in PyTorch.
void require_fits(const Number& number, DType dtype, std::string_view operation,
                  std::source_location where);

// `tensor` in another shape of as many elements, as an operand: while a function is captured, a
// view in the graph, whatever `tensor` is.
Tensor reshape_operand(const Tensor& tensor, const Shape& shape, std::source_location where);
// `tensor` broadcast to `shape` by NumPy's rule, as an operand: while a function is captured, a
// view in the graph, whatever `tensor` is.
Tensor broadcast_to(const Tensor& tensor, const Shape& shape, std::string_view operation,
                    std::source_location where);
// The same for the user to have: of a concrete tensor, a view of its memory.
Tensor expanded_view(const Tensor& tensor, const Shape& shape, std::string_view operation,
                     std::source_location where);

// The operands as tensors of one dtype and shape.
std::vector<Tensor> broadcast_operands(std::string_view operation,
                                       std::span<const TensorOperand* const> operands,
                                       bool divides = false);

// The common dtype of the operands, by PyTorch's rule: tensors promote among each other; tensors
// without axes, and then numbers, count only if their kind is higher (floating over integer over
// bool), or if all are floating. A floating number is f32, another i64.
DType common_dtype(std::string_view operation, std::span<const TensorOperand* const> operands);

const Tensor& tensor_of(const TensorOperand& operand, std::string_view operation);
// Non-negative axis; raises `Error` outside the rank.
int axis_of(int axis, const Shape& shape, std::string_view operation, std::source_location where);

}  // namespace tilewright::graph
