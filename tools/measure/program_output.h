// Runs another program and returns its output. It is started with a list of words, never by a
// shell, so that no name of a file can become a command.
#pragma once

#include <string>
#include <vector>

namespace tilewright::tools {

struct ProgramOutput {
  std::string text;  // both of its streams
  bool ok = false;   // it ended with 0
};

// `words`: the program, by its path or looked for on PATH, and its arguments. A missing program is
// not ok, and `text` says so. Raises `Error` beginning with "[operation]" where no pipe can be
// made.
ProgramOutput output_of(const std::vector<std::string>& words, const std::string& operation);

}  // namespace tilewright::tools
