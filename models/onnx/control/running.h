// Running the nodes of a program: of its graph, and of bodies, which are run as often as a branch
// or loop says.
#pragma once

#include <vector>

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// Gives the execution the results of the node. Errors name the node.
void compute(const Node& node, Execution& execution);

// The results of the body for these values, after which the execution has none of its own. Raises
// `Error` where it takes another number of values.
std::vector<Value> run(const Graph& body, std::vector<Value> inputs, Execution& execution);

}  // namespace tilewright::onnx
