// What the driver's results mean, as errors of the library.
//
// Most are an `Error` that names the call and says what the driver says. After some a context
// cannot be used again: a kernel that touched memory that is not there, or did not come to an end.
// The driver tells so at whatever call comes next, of that kernel or not; `ContextLost` therefore
// names the kernels that were launched since the last time that all was known to be well, the
// latest first. TILEWRIGHT_SYNC=1 waits after each launch, and then there is one only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/out_of_memory.h"
#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

// The device's state is gone: no call in this process will succeed. Start it anew.
class ContextLost : public Error {
 public:
  using Error::Error;
};

bool is_sticky(Result result);
// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
std::string describe(Result result);

// Raises what `result` of the driver's function `call` means, unless it is success. `about`: what
// was to be done, for the message.
void must(Result result, std::string_view call, std::string_view about = {});

// Kernels that are perhaps not finished, for messages. Names must live as long as the process may
// launch them. Thread safe.
void note_launch(const char* kernel, const unsigned (&grid)[3], unsigned threads);
// All kernels of a graph, as its text says.
void note_graph(std::shared_ptr<const std::string> text);
void note_all_finished();

}  // namespace tilewright::cuda
