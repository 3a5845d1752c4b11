// Runs a program by its definition, or on the device under test: the programs of the tests of the
// language run on every device that TILEWRIGHT_DEVICE can name, and must give the same there. On a
// GPU, a program with memories of unknown size runs by definition.
#pragma once

#include <span>

#include "dsl/interpret/interpret.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "dsl/launch/staged.h"

namespace tilewright::dsl {

inline void run_program(const ir::Function& function, const Grid& grid,
                        std::span<const Argument> arguments,
                        std::span<const ir::Memory> memories = {}) {
  Device device = default_device();
  if (device.is_emulated())
    launch(*compile(function, device.target()), grid, arguments.data());
  else if (device.is_cuda() && !memories.empty())
    launch_staged(device, *compile(function, device), grid, arguments, memories);
  else
    ir::interpret(function, grid, arguments, memories);
}

}  // namespace tilewright::dsl
