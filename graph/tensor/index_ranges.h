// Checks that the elements of an index are in range, and the one message for those that are not,
// whoever finds them: an operation that runs at once, or a compiled function
// (checks/row_checks.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

bool is_inside(const IndexRange& range, std::int64_t element);
// The message for an element outside, which stands between the two.
struct OutsideText {
  std::string before, after;
};
OutsideText text_of_outside(const IndexRange& range);
// Raises `Error` that names the operation, the element, the range and the line, and the node of a
// foreign program where one is known.
[[noreturn]] void raise_outside(const IndexRange& range, std::int64_t element);

// Raises it for the first element outside, of these in the memory of a host tensor: those so far
// from its first one, or where there are no offsets so many from there on.
void require_inside_at(const IndexRange& range, const TensorBody& body,
                       std::span<const std::int64_t> offsets, std::int64_t count);
// The same for all elements of an index of integers. While a function is captured they are not
// known: it is noted, for Options::index_checks.
void require_inside(const Tensor& index, IndexRange range);

// Drops repetitions: axes with stride 0 have size 1.
StridedView without_repeats(StridedView place);
// Where its elements lie. Empty: one behind the other from 0 on.
std::vector<std::int64_t> offsets_of(const StridedView& place);

}  // namespace tilewright::graph
