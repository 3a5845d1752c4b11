// Arguments of operators that arrange elements, as sizes and axes: the same for tensors and for
// numbers that the host knows. Those that later operator sets have as inputs are attributes in the
// earlier ones.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

Shape reshaped_sizes(const Call& call);         // Reshape
Shape squeezed_sizes(const Call& call);         // Squeeze
Shape unsqueezed_sizes(const Call& call);       // Unsqueeze
Shape flattened_sizes(const Call& call);        // Flatten
Shape split_sizes(const Call& call, int axis);  // Split
// These sizes, which must be those of parts of an axis of `size`.
Shape parts_of(std::int64_t size, const Shape& sizes);

// A list of integers: the input of that number since that operator set, before an attribute.
bool has_list(const Call& call, std::size_t input, std::string_view attribute, std::int64_t since);
Shape list_of(const Call& call, std::size_t input, std::string_view attribute, std::int64_t since);

// A slice of one axis, its bounds inside it; with a step below 0 from `start` down to `end`.
struct Cut {
  int axis;
  std::int64_t start, step, count;
};
std::vector<Cut> cuts_of(const Call& call);  // Slice

}  // namespace tilewright::onnx
