// Tensor maps for TMA, from the code generator's descriptions (runtime/tensor_map.h) and the
// arguments of a launch.
#pragma once

#include <vector>

#include "runtime/cuda/driver/types.h"
#include "runtime/tensor_map.h"

namespace tilewright::cuda {

// Raises `Error` where the array does not suit TMA, naming the argument and the requirement: it
// begins at a multiple of 16 bytes, and so do its rows.
TensorMapBytes encode(const TensorMapSpec& spec, const Argument* arguments,
                      const std::vector<ArtifactParam>& params);

}  // namespace tilewright::cuda
