// Running an artifact on the device that it was compiled for.
#pragma once

#include "dsl/launch/device.h"
#include "runtime/artifact.h"

namespace tilewright {

// Runs the whole grid; pointers among the arguments are addresses of the device's memory. On the
// host and in the emulator it is done when the call returns (runtime/artifact.h); on a GPU it is
// begun, in the calling thread's stream. Thread safe.
void launch_on(const Device& device, const Artifact& artifact, const Grid& grid,
               const Argument* arguments);
// Several launches as one (runtime/artifact.h).
void launch_on(const Device& device, const Artifact& artifact, std::span<const Grid> grids,
               const Argument* arguments, bool spread = true);

}  // namespace tilewright
