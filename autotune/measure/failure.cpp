#include "autotune/measure/failure.h"

#include <new>

#include "dsl/emulator/options.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/cuda/driver/error.h"

namespace tilewright::autotune {
namespace {

Status status_of(const std::exception& error) {
  if (dynamic_cast<const OutOfMemory*>(&error) || dynamic_cast<const std::bad_alloc*>(&error))
    return Status::out_of_memory;
  if (dynamic_cast<const cuda::ContextLost*>(&error) ||
      dynamic_cast<const dsl::emulator::EmulationFault*>(&error))
    return Status::crashed;
  return Status::compile_failed;
}

Status status_of(ChildEnd end) {
  switch (end) {
    case ChildEnd::done: return Status::ok;
    case ChildEnd::raised: return Status::compile_failed;
    case ChildEnd::exited:
    case ChildEnd::crashed: return Status::crashed;
    case ChildEnd::timed_out: return Status::timed_out;
    case ChildEnd::out_of_memory: return Status::out_of_memory;
  }
  return Status::crashed;
}

}  // namespace

Failure failure_of(const std::exception& error) { return {status_of(error), error.what()}; }

Failure failure_of(const ChildResult& result) {
  if (result.end == ChildEnd::done) return {};
  return {status_of(result.end), result.text};
}

}  // namespace tilewright::autotune
