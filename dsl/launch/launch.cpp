#include "dsl/launch/launch.h"

#include "runtime/cuda/context.h"
#include "runtime/cuda/launch.h"

namespace tilewright {

void launch_on(const Device& device, const Artifact& artifact, const Grid& grid,
               const Argument* arguments) {
  if (artifact.gpu == nullptr) [[likely]]
    return launch(artifact, grid, arguments);
  cuda::launch(cuda::context(device.ordinal()), artifact, grid, arguments);
}

void launch_on(const Device& device, const Artifact& artifact, std::span<const Grid> grids,
               const Argument* arguments, bool spread) {
  if (artifact.gpu == nullptr) [[likely]]
    return launch(artifact, grids, arguments, spread);
  cuda::launch(cuda::context(device.ordinal()), artifact, grids, arguments);
}

}  // namespace tilewright
