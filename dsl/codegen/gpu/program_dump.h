// The programs that become GPU code, as files: what a run of a program or of a test suite compiles
// can be looked at, compiled again and assembled for every GPU (`tilewright bench ptxas
// --programs`).
#pragma once

#include <string>

#include "dsl/ir/function.h"

namespace tilewright::dsl::gpu {

// Writes the program to TILEWRIGHT_DUMP_PROGRAMS/<entry>.tile, unless the variable is unset or the
// file is there: the entry's name tells programs apart by their content. Thread safe, and safe
// among processes that share the folder. Raises `Error` if the folder cannot be written.
void dump_program(const ir::Function& function, const std::string& entry);

}  // namespace tilewright::dsl::gpu
