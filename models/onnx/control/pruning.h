// Taking away branches that never run: those of an If whose condition follows from constants and
// from sizes that the model declares.
//
// Exporters write both branches of a choice that is made once, for example by a sampling rate. The
// weights of the other branch then cost memory, and may not even fit the sizes of the inputs.
#pragma once

#include "models/onnx/program/program.h"

namespace tilewright::onnx {

// Replaces each such If by the nodes of its branch, and takes away nodes and initializers that
// nothing reads any more. A model without one is left as it is.
void prune_branches(Program& program);

}  // namespace tilewright::onnx
