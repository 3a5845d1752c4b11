// The reference page of the tile IR's operations, made from their table, so that it cannot fall
// behind it. dsl/README.md holds a copy, which a test compares.
#pragma once

#include <string>

namespace tilewright::ir {

// A Markdown table with a row an operation, in the order of ops.def.
std::string op_reference();

}  // namespace tilewright::ir
