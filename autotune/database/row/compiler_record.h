// The build of the compiler that made the measured code: the part of a tuning key that changes
// whenever compiled code may change.
#pragma once

#include "autotune/database/row/record.h"

namespace tilewright::autotune {

// version=0.1.0 llvm=22.1.8 sources=<hash of everything between a graph and machine code>.
const Record& compiler_record();

}  // namespace tilewright::autotune
