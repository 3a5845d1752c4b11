// What torch.autocast makes of the operators within it, on a CPU: some compute in few bits, some in
// f32, and some in the widest dtype of their tensors.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

// The tensors that the node names and autocast for `dtype` casts, cast and by their ids; the node
// sees its other values, f64 and integers among them, as they are. Raises `Error` for a node with a
// graph of its own, and for one that several dtypes are for.
std::vector<std::pair<ValueId, Value>> autocast(const Node& node, std::span<const Value> values,
                                                DType dtype);

}  // namespace tilewright::exported
