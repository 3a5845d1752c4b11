// Inputs of a model that a command line holds constant: "sr=16000".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/programs/program_module.h"

namespace tilewright::tools {

using Constants = std::map<std::string, Tensor>;

// Each text is NAME=VALUE, the value a number or as many as the input has elements, with commas
// between them. Raises `Error` for a name that is no input, and for values that do not fit.
Constants parse_constants(const std::vector<std::string>& texts,
                          const std::vector<ProgramInput>& inputs);

}  // namespace tilewright::tools
