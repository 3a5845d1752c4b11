// An op that cannot be computed, such as a part of a model that is wrong for the sizes of a call:
// it has results of known types, and computing them raises an error. Plans and packages hold it as
// data (graph/custom/refusal.h).
#pragma once

#include <string>
#include <vector>

#include "graph/functions/custom/custom_op.h"

namespace tilewright {

CustomOp refused_op(const std::string& name, const std::vector<TensorType>& results,
                    const std::string& error);

}  // namespace tilewright
