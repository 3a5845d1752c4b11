// Programs of models as files, for the commands that run and inspect them: which files they are,
// their summary, and the inputs that the user makes constant.
#pragma once

#include <string>
#include <vector>

#include "models/programs/program_module.h"
#include "tools/console/constants.h"

namespace tilewright::tools {

constexpr const char* what_models_are =
    "a program that torch.export.save has written (.pt2), or an ONNX model (.onnx)";
constexpr const char* what_can_be_run =
    "a program that torch.export.save has written (.pt2), an ONNX model (.onnx), or a package of "
    "`tilewright package` (.twp)";
constexpr const char* what_constants_are =
    "NAME=VALUE: an input that is always this number, or these numbers with commas between them; "
    "branches that follow from it are decided once";

bool is_onnx(const std::string& path);
bool is_package(const std::string& path);

ProgramSummary summary_of(const std::string& path, const Constants& constants);

// NAME=VALUE, by the types of the model's inputs.
Constants constants_of(const std::string& path, const std::vector<std::string>& texts);

// The sizes of an input, with the range of each that may change.
std::string sizes_text(const ProgramInput& input);

// The range of an input that is an integer; otherwise nothing.
std::string integer_text(const ProgramInput& input);

}  // namespace tilewright::tools
