// Facts about a model that only its training asks for: the values by which its outputs have
// gradients, and whether its operators compute as in training.
#pragma once

#include <string>
#include <vector>

#include "models/onnx/program/program.h"

namespace tilewright::onnx {

// By ValueId: true if an output of the model may have a gradient by this value. Running statistics
// have none, nor do factors of sizes, scales of quantised tensors, and operands of comparisons.
std::vector<bool> differentiable_values(const Program& program);

// The first operator that computes as in training, with the name of its node; empty if there is
// none.
std::string training_operator(const Program& program);

}  // namespace tilewright::onnx
