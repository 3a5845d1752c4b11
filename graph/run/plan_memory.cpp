#include <algorithm>

#include "graph/run/control_flow.h"
#include "graph/run/plan.h"
#include "runtime/cpu/system_memory.h"

namespace tilewright::graph {
namespace {

// The size of a buffer of so many bytes.
using Size = std::int64_t (*)(std::int64_t bytes);

// The bytes of the step of control flow that takes most, with the steps in its bodies.
std::int64_t bytes_of_loops(const Executable& executable, Size size) {
  std::int64_t most = 0;
  for (const ExecutableStep& step : executable.steps) {
    const HostCall& call = executable.kernels[step.kernel].call;
    const auto* planned = call ? call.target<PlannedControlFlow>() : nullptr;
    if (planned == nullptr) continue;
    std::int64_t inside = 0;
    for (const ControlBody& body : planned->control->bodies)
      inside = std::max(inside, bytes_of_loops(*body.run, size));
    most = std::max(most, size(bytes_of_run(*planned->control)) + inside);
  }
  return most;
}

std::int64_t as_asked(std::int64_t bytes) { return bytes; }

}  // namespace

PlanMemory memory_of(const Executable& executable, std::span<const std::int64_t> copies) {
  const Size size = executable.memory == nullptr ? block_size_for : as_asked;
  PlanMemory memory{.arena = executable.arena_bytes, .loops = bytes_of_loops(executable, as_asked)};
  std::int64_t copied = 0;
  for (std::int64_t bytes : copies) copied += size(bytes);
  memory.peak = bytes_of_loops(executable, size);
  if (memory.arena > 0) memory.peak += size(memory.arena);
  memory.peak = std::max(memory.peak, copied);
  for (std::int64_t bytes : executable.output_bytes) {
    memory.outputs += bytes;
    memory.peak += size(bytes);
  }
  for (const std::shared_ptr<Buffer>& constant : executable.constants)
    memory.constants += constant->size_bytes();
  return memory;
}

}  // namespace tilewright::graph
