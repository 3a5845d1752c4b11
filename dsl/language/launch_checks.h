// The preconditions of a launch of a kernel written by hand: its grid, and the memory of its
// arguments. Apart from the launch so that one list holds all refusals, with their reasons.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/analysis/parameter_use.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"

namespace tilewright::dsl {

// Raises `Error` for sizes below 0 and for more programs than 2^63 - 1; gives how many there are.
std::int64_t require_grid(const std::string& kernel, const Grid& grid);

// The memory of one argument, and how the kernel uses it.
struct ArgumentMemory {
  const LaunchArgument* argument;
  const std::string* name;
  ParameterUse use;
};
// Raises `Error` where memory is null, lies on another device than `device`, is const and written,
// or overlaps another argument's of which one is written. Arguments that the kernel does not use
// may be anything.
void require_memory(const std::string& kernel, std::span<const ArgumentMemory> memories,
                    const Device& device);

}  // namespace tilewright::dsl
