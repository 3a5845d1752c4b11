// The text of a C library: the header that declares its functions, and the source that runs their
// steps. A step of a plan is a block of C that calls its kernel once a grid.
#pragma once

#include <string>

#include "graph/compile/c_library/c_names.h"

namespace tilewright::graph {

// NAME.h and NAME.c.
std::string header_text(const CLibrary& library);
std::string source_text(const CLibrary& library);

}  // namespace tilewright::graph
