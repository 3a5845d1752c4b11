// What torch.autocast makes of the operators within it, on a CPU: some compute in few bits, some in
// f32, and some in the widest dtype of their tensors.
#pragma once

#include <vector>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

// The values as the node sees them: of the tensors that it names those cast that autocast for
// `dtype` casts. f64 and what is no float stay. Raises `Error` for a node with a graph of its own,
// and for one that several dtypes are for.
std::vector<Value> autocast(const Node& node, std::vector<Value> values, DType dtype);

}  // namespace tilewright::exported
