// This program as another process, for what one process does once: it compiles for one processor.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tilewright::tools {

// The arguments that the command was given, its name the first, without these options
// ("--output").
std::vector<std::string> given_arguments(const CLI::App& command,
                                         const std::vector<std::string>& without);

// Runs this program with the arguments, and the environment of this process with one setting
// changed ("TILEWRIGHT_CPU=avx2"). Its errors go to stderr, and its stdout is dropped. Returns the
// status that it ends with. Raises `Error` "[operation] ..." where it cannot be started, or a
// signal ends it.
int run_as_process(const std::string& operation, const std::vector<std::string>& arguments,
                   const std::string& setting);

}  // namespace tilewright::tools
