// ONNX models as files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "models/files/foreign_file.h"
#include "models/onnx/program/program.h"

namespace tilewright::onnx {

// Raises `Error` "[load_onnx] PATH: ..." for faults of the file, or of those of its folder in which
// its tensors lie.
Program read_program(const std::filesystem::path& path, Reading reading);

// A tensor alone, as files of inputs have it; `name` is for messages.
Tensor read_tensor(std::string_view bytes, const std::string& name);

}  // namespace tilewright::onnx
