// The elements of a tensor as text for people: nested brackets, one format for all of them.
//
// Which format is PyTorch's rule: floats that are all whole numbers are written as "3.", those that
// differ by more than a thousandfold or are very large or small with exponents, others with four
// digits behind the point. With more than 1000 elements, three at each end of an axis are shown.
// Lines are broken at 80 columns.
#pragma once

#include <string>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// For a concrete, row-major tensor in the host's memory. Lines after the first are indented further
// by so many columns.
std::string text_of_elements(const Tensor& tensor, int column = 0);

}  // namespace tilewright::graph
