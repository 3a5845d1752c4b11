// Models in files with their inputs in other files, for the commands that call them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/compile/packages/package.h"
#include "models/files/foreign_file.h"
#include "models/programs/program_module.h"
#include "tools/console/constants.h"

namespace tilewright::tools {

// Inputs of an ONNX model that have a default are those of the file `inputs` where it has them.
std::unique_ptr<ProgramModule> load_program(const std::string& path, const std::string& inputs,
                                            const Constants& constants, Reading reading);

// The inputs in a safetensors file, by the model's names, or else in.0, in.1, ... Raises `Error`
// for one that is missing, and for a tensor that is no input.
std::vector<Tensor> read_inputs(const ProgramModule& model, const Constants& constants,
                                const std::string& path, const Device& device);
std::vector<Tensor> read_inputs(const PackageSignature& signature, const std::string& path);

}  // namespace tilewright::tools
