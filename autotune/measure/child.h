// Runs work that may fail badly in a child process.
//
// A candidate may write to a bad address, never end, take memory without end, or leave the process.
// So it runs once in a child made by fork before it may run here: the child sees all the memory
// that this process has, and its changes to that memory are gone with it. Compile before: compiling
// twice is slow, and a child may find other threads' locks held for ever.
//
// Its standard error is not shown; the end of it becomes part of the reason if the child crashed or
// exited. For code of the host. A child of a process that uses a GPU cannot use it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tilewright::autotune {

struct ChildLimits {
  double seconds = 10;                    // of wall time
  std::int64_t memory_bytes = 4LL << 30;  // beyond the memory of this process
};

enum class ChildEnd { done, raised, exited, crashed, timed_out, out_of_memory };

struct ChildResult {
  ChildEnd end = ChildEnd::done;
  // done: the result of the work. The text of the exception, if the work raised one, a kernel
  // crashed in the emulator, or there was not enough memory for a kernel. Otherwise the reason, for
  // people.
  std::string text;
};

// Runs the work in a child and waits for it. `text` may hold any bytes, up to a gigabyte. Raises
// `Error` where no child can be made. Thread safe; one child runs at a time.
ChildResult run_in_child(const std::function<std::string()>& work, const ChildLimits& limits = {});

}  // namespace tilewright::autotune
