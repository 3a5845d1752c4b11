// The text of a file that a command was given, or of standard input.
#pragma once

#include <string>

namespace tilewright::tools {

// "-" is standard input. Raises `Error` "[COMMAND] cannot read ..." where there is no such file.
std::string read_text(const std::string& command, const std::string& path);

}  // namespace tilewright::tools
