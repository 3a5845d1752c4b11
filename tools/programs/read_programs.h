// The tile programs of a file that a command was given, or of standard input.
#pragma once

#include <string>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::tools {

// "-" is standard input. Raises `Misuse` "[COMMAND] FILE: ..." where there is no such file, where
// its text is no tile IR, or where no program is in it.
std::vector<ir::Function> read_programs(const std::string& command, const std::string& path);

}  // namespace tilewright::tools
