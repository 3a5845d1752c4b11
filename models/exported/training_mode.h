// The mode in which a program was exported: layers such as dropout and batch norms became operators
// that compute either as in training or as in evaluation.
#pragma once

#include <string>

#include "models/exported/program/program.h"

namespace tilewright::exported {

// The first operator that computes as in training, with its line of the model; empty if there is
// none.
std::string training_operator(const Program& program);

}  // namespace tilewright::exported
