// Work shared by a few threads, for compiling: loops of kernels have threads of their own
// (parallel.h), which bodies must not fork from.
#pragma once

#include <cstddef>
#include <functional>

namespace tilewright {

// Calls `work` on this thread and, as far as the system gives them, on others at the same time; so
// it must take its pieces from something all may ask. There are as many threads as launches may use
// (thread_count()), at least 2, since one piece may take as long as all others, at most 16, and no
// more than pieces. Returns when all calls have, and raises one of their errors, this thread's
// first.
void run_beside(std::size_t pieces, const std::function<void()>& work);

}  // namespace tilewright
