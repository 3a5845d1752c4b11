// The weights of a model wherever they are: in a folder, quantised or not, or in a GGUF file.
#pragma once

#include <filesystem>

#include "models/weights/weights.h"

namespace tilewright {

// Under the names that the files of a folder have. Raises `Error` for whatever is wrong with them.
Weights model_weights(const std::filesystem::path& folder, bool links_may_leave = false);

}  // namespace tilewright
