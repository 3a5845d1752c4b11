// Views of PyTorch's that are copies here: of a diagonal, of windows, by strides, of conjugates,
// and of complex numbers as pairs. A program that writes in place may not see the difference:
// writes to such a copy would be lost, and writes to the original tensor would not be seen.
#pragma once

#include "models/exported/program/program.h"

namespace tilewright::exported {

// Raises `Error` that names the node and both operators where the program depends on such a view.
void require_no_writes_to_copies(const Program& program);

}  // namespace tilewright::exported
