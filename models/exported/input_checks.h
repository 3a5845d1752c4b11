// Whether the tensors of a call are what a program takes: their number, dtypes and sizes, and what
// the program's symbols are then.
#pragma once

#include <vector>

#include "graph/tensor/tensor.h"
#include "models/exported/exported_module.h"
#include "models/exported/program/program.h"

namespace tilewright::exported {

// Those of the user, in their order.
std::vector<ExportedInput> described_inputs(const Program& program);

// Raises `Error` "[exported] ..." that names the input, the axis, the size and what would be right.
void check_inputs(const Program& program, const std::vector<Tensor>& inputs);

}  // namespace tilewright::exported
