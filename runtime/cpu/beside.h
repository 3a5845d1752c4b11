// Work shared by two threads, for compiling: one program may take as long as all the others, and
// loops of kernels have threads of their own (parallel.h), which bodies must not fork from.
#pragma once

#include <functional>

namespace tilewright {

// Calls `work` on this thread and, if the system gives one, on a second at the same time; so it
// must take its pieces from something both may ask. Returns when all calls have, and raises the
// error of the first that failed.
void run_beside(const std::function<void()>& work);

}  // namespace tilewright
