// The product of two tensors whose axes have names, from which einsum and tensordot are made.
//
// Apart from products.h, as functions of the user's have no names of axes but these two.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// A tensor with a letter for each axis.
struct Named {
  Tensor tensor;
  std::string axes;
};

// Sums of products over the letters that are not kept; those that both have and that are kept go
// side by side. Sizes of one letter are equal or 1.
Named contracted(const Named& a, const Named& b, std::string_view kept, std::string_view operation,
                 std::source_location where);
// Summed over the letters that are not kept.
Named summed(const Named& x, std::string_view kept, std::source_location where);
// With its axes in that order, of all its letters.
Tensor ordered(const Named& x, std::string_view order, std::source_location where);

// `tensor` with its axes in another order, as an operand: while a function is captured, a view in
// the graph, whatever `tensor` is.
Tensor permute_operand(const Tensor& tensor, const std::vector<int>& axes,
                       std::source_location where);
// The diagonal of the last two axes, as an operand.
Tensor diagonal_operand(const Tensor& tensor, std::source_location where);

}  // namespace tilewright::graph
