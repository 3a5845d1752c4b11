// The functions that a host's code may call, and no others. With the loader, since code that comes
// from a file calls the same ones as code that was generated in this process.
#pragma once

#include <span>

#include "runtime/code/object.h"

namespace tilewright {

// Sorted by name: the functions of libm that the language has no expansion for, the memory
// functions that LLVM itself inserts, and the one that writes messages.
std::span<const CallableFunction> callable_functions();

}  // namespace tilewright
