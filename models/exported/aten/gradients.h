// Gradients of several operands, of which a program says by flags which it wants.
#pragma once

#include <functional>
#include <vector>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

// Computes those that `output_mask` asks for. The others are not results, as programs name none for
// them, or none where they do.
Results wanted_gradients(const Call& call, const std::vector<std::function<Tensor()>>& gradients);

}  // namespace tilewright::exported
