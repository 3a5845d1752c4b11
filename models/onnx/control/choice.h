// If of ONNX: one of two branches, by a condition.
//
// Where the host knows the condition, at once or inside compile(), only the chosen branch runs.
// Otherwise, inside compile(), both become parts of the graph if their results have the same types.
// Exporters also write branches that are invalid for the sizes of a call, for example one for
// another sampling rate. Such a branch becomes an Error that is raised when it is taken, so that it
// does not break the graph. In all other cases the condition is read, which breaks the graph.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

Results chosen(const Call& call);

}  // namespace tilewright::onnx
