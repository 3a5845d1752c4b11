// Words that order the elements along an axis and count them. Sorting is Batcher's bitonic network,
// traced step by step: its exchanges depend on places alone, so all elements take each step at
// once, on every device. It compares integers: floats become integers of their width in the same
// order, in which -0 is below 0 and a NaN, whatever its sign, above all numbers (as in PyTorch;
// Triton: by chance). Sizes that are not powers of two are padded internally.
#pragma once

#include "dsl/language/words/folding.h"

namespace tilewright::dsl {

// In ascending order along the axis, by default the last (Triton: the last alone).
Tile sort(const Operand& x, int axis = -1, bool descending = false);
// And where each element was, i32; equal elements stay in their order.
ElementAndIndex sort_with_index(const Operand& x, int axis = -1, bool descending = false);
// Sorts a sequence that rises and then falls, or the other way round, in ascending order, in as
// many steps as its size, a power of two, has bits. For another sequence the result is not sorted.
Tile bitonic_merge(const Operand& x, int axis = -1, bool descending = false);
// The k greatest elements, the greatest first; k is any number up to the size.
Tile topk(const Operand& x, std::int64_t k, int axis = -1);
ElementAndIndex topk_with_index(const Operand& x, std::int64_t k, int axis = -1);

// How often each of 0, 1, ..., bins - 1 is an element of x, i32. x is integer, of any shape; others
// are not counted (Triton: undefined), nor are elements whose mask is false.
Tile histogram(const Operand& x, std::int64_t bins);
Tile histogram(const Operand& x, std::int64_t bins, const Operand& mask);

}  // namespace tilewright::dsl
