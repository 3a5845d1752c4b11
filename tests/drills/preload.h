// The command with a library of tests/drills/preload between it and the system.
#pragma once

#include <string>

#include "tests/drills/child.h"

namespace tilewright::drills {

// `fault` as preload/io_faults.cpp reads it.
Command with_fault(Command command, const std::string& fault);
// `clock` as preload/clock.cpp reads it.
Command with_clock(Command command, const std::string& clock);

// How many calls of a kind ("open", "write", ...) a run of it makes. It must end with 0.
long calls_of(Command command, const std::string& kind);

}  // namespace tilewright::drills
