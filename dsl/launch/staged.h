// Runs an artifact on a device with arguments that point to the host's memory: a GPU gets copies of
// it, and the host gets their values back afterwards. Apart from launch.h, where arguments lie
// where the program runs: here all is over when the call returns.
#pragma once

#include <span>

#include "dsl/interpret/interpret.h"
#include "dsl/launch/launch.h"

namespace tilewright {

// `memories[i]` is what argument i points to; of a scalar it is empty.
void launch_staged(const Device& device, const Artifact& artifact, const Grid& grid,
                   std::span<const Argument> arguments, std::span<const ir::Memory> memories);

}  // namespace tilewright
