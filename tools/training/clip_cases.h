// Clipped gradients, compared with PyTorch's: zero, small, large, infinite, NaN and empty ones.
#pragma once

#include <nlohmann/json.hpp>

namespace tilewright::tools {

// The largest relative distance of the clipped gradients and the norm of an entry of clip.json; 0
// where PyTorch refuses. NaN and infinities must be the same.
double compared_clipping(const nlohmann::json& entry);

}  // namespace tilewright::tools
