// Views of PyTorch's that are copies here: of a diagonal, of windows, by strides, of conjugates,
// and of complex numbers as pairs. A program that writes in place may not see the difference:
// writes to such a copy would be lost, and writes to the original tensor would not be seen.
//
// A `view` is a copy here where its operand lies in memory in another order than the export's
// strides said. Its node gets the argument "shares_memory" where a write would be lost then, so
// that running it raises an Error instead.
#pragma once

#include "models/exported/program/program.h"

namespace tilewright::exported {

// Raises `Error` that names the node and both operators where the program depends on a view that
// is always a copy, and marks those that may be one.
void settle_written_views(Program& program);

}  // namespace tilewright::exported
