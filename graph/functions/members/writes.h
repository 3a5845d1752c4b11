// Writes of values to tensors in place, for the members that assign: the value is broadcast and
// converted, and then written as Tensor::copy_from does, to views and inside captures too.
#pragma once

#include <string_view>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The elements of the target become the value's, which broadcasts to them; leading axes of size 1
// that the target does not have are dropped.
void write(const Tensor& target, const TensorOperand& value, std::string_view operation);
// The value as a tensor of the target's dtype, on its device, that broadcasts to it.
Tensor value_for(const Tensor& target, const TensorOperand& value, std::string_view operation);

// An operation of two tensors that has an operator for assignment.
struct Compound {
  std::string_view name;  // "+="
  Op op;
  Tensor (*function)(const TensorOperand& a, const TensorOperand& b);
};
void write_compound(const Tensor& target, const Compound& compound, const TensorOperand& value);
// The same for a part of the tensor.
void write_compound(const Tensor& target, const std::vector<TensorIndex>& part,
                    const Compound& compound, const TensorOperand& value);
// The result in the dtype of x, which must hold its kind (floating over integer over bool).
Tensor result_of(const Compound& compound, const Tensor& x, const TensorOperand& value);

}  // namespace tilewright::graph
