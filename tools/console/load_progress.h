// How far the loading of a model is, for a person at a terminal.
#pragma once

#include "models/layers/module.h"

namespace tilewright::tools {

// On the standard error: one line, written over and over, and gone at the end.
void show_progress(const LoadProgress& progress);

}  // namespace tilewright::tools
