// The checks for every run over a foreign program's file, a .pt2 archive or an .onnx model.
#pragma once

#include <string>

namespace tilewright::drills {

// `refused` if the format forbids the change; `either` if the changed file may be valid too.
enum class Verdict : std::uint8_t { refused, either };

// Runs `inspect` and `run` over a file of that name and content, with the input x, two floats, and
// expects an answer in order (child.h), without a byte that drives a terminal, and the verdict.
void expect_safe(const std::string& name, const std::string& bytes, Verdict verdict);
// That both commands take the file.
void expect_read(const std::string& name, const std::string& bytes);

}  // namespace tilewright::drills
