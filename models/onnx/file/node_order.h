// The order in which the nodes of a graph can be computed.
//
// The format asks writers for such an order. Converters that append nodes, as those to 16 bits
// append casts of inputs, do not keep it, and ONNX Runtime sorts them.
#pragma once

#include <vector>

#include "models/onnx/file/wire.h"

namespace tilewright::onnx {

// The nodes, each after those whose results it or its bodies read, and otherwise in their order.
// Raises `Error` that names the nodes of a cycle, and for bodies more than `most_deep` deep.
std::vector<Fields> in_order(const std::vector<Fields>& nodes, std::size_t most_deep,
                             const Place& place);

}  // namespace tilewright::onnx
