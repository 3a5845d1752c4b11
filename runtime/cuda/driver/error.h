// Translates the driver's results into errors of the library.
//
// Most become an `Error` with the name of the call and the driver's message. After some a context
// cannot be used any more: a kernel accessed an invalid address, or did not terminate. The driver
// reports this at any later call, whether it belongs to that kernel or not. `ContextLost` therefore
// names the kernels that were launched since everything was last known to be in order, the latest
// first. TILEWRIGHT_SYNC=1 waits after each launch, so that it names one only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/out_of_memory.h"
#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

// The device's state is gone: no call in this process will succeed. Start a new process.
class ContextLost : public Error {
 public:
  using Error::Error;
};

bool is_sticky(Result result);
// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
std::string describe(Result result);

// Raises what `result` of the driver's function `call` means, unless it is success. `about`: the
// purpose, for the message.
void must(Result result, std::string_view call, std::string_view about = {});

// Kernels that are perhaps not finished, for messages. Names must live until the kernel is
// unloaded. Thread safe.
void note_launch(const char* kernel, const unsigned (&grid)[3], unsigned threads);
// All kernels of a graph, as its text says.
void note_graph(std::shared_ptr<const std::string> text);
void note_all_finished();
// A kernel of this name, the pointer, has ended and will not be launched again.
void note_unloaded(const char* kernel);

}  // namespace tilewright::cuda
