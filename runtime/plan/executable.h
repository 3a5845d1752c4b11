// An executable: the parts of a compiled function that run, as plain data.
//
// A list of steps over argument slots. A step runs a kernel over one grid, or over several at once
// that do not wait for each other. An argument of a kernel is a slot: memory of the caller
// (inputs), a buffer that the call returns (outputs), the arena (intermediate values), memory of
// the executable itself (constants), or a number. Nothing here depends on graphs, tiles or code
// generation: a compiler writes an executable, and this folder runs it (`run_executable`) or
// records it (recording.h).
//
// A kernel is an artifact of code, or a call of a function on the host.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/buffer.h"

namespace tilewright {

// Where an argument of a step lies.
enum class SlotKind : std::uint8_t { input, output, constant, arena, number };
struct ArgumentSlot {
  SlotKind kind;
  std::uint32_t index = 0;  // of the input, output buffer or constant
  std::int64_t offset = 0;  // in the arena, bytes; of a number, itself
  std::int64_t bytes = 0;   // that the step may touch there; 0 where that is not known, of inputs
  bool is_written = false;  // the step may write there; otherwise it reads alone
};

// Runs a kernel's whole grid on the calling thread, with one argument a parameter.
using HostCall = std::function<void(const Grid& grid, const Argument* arguments)>;

// The kernel that a step runs. Those of several grids run `batched`; one without an artifact is a
// host call.
struct ExecutableKernel {
  std::string name;
  std::shared_ptr<const Artifact> single;   // for one grid; null: no step has one
  std::shared_ptr<const Artifact> batched;  // for several; null: one after the other
  HostCall call;
};

struct ExecutableStep {
  std::uint32_t kernel = 0;
  std::uint32_t first_grid = 0, grids = 1;            // in Executable::grids
  std::uint32_t first_slot = 0, slots_of_a_grid = 0;  // in Executable::slots
  bool spread = true;  // over the threads of the host: worth waking them
  std::uint32_t slots() const { return grids * slots_of_a_grid; }
};

struct Executable {
  int gpu = -1;                    // whose kernels these are; -1: the host's
  DeviceMemory* memory = nullptr;  // where all slots lie; null: the host's
  std::vector<ExecutableKernel> kernels;
  std::vector<ExecutableStep> steps;
  std::vector<Grid> grids;
  std::vector<ArgumentSlot> slots;
  std::vector<std::shared_ptr<Buffer>> constants;
  std::vector<std::int64_t> output_bytes;  // of each output buffer
  // The results of a call: for each its output buffer, or none if it is the memory of an input.
  std::vector<std::optional<std::uint32_t>> results;
  std::int64_t arena_bytes = 0;

  // True if a recording can hold all steps: the host does nothing between launches of a CUDA graph,
  // but does in a loop.
  bool may_be_recorded() const {
    return gpu < 0 || std::ranges::none_of(kernels, [](const ExecutableKernel& kernel) {
             return kernel.call != nullptr;
           });
  }
  std::span<const Grid> grids_of(const ExecutableStep& step) const {
    return {grids.data() + step.first_grid, step.grids};
  }
};

// The least time of each step over the runs that were timed.
struct LaunchTimes {
  std::int64_t runs = 0;
  std::vector<double> seconds;  // of each step
};

// Memory of one run: output buffers and the arena's begin.
struct ExecutableMemory {
  std::vector<std::shared_ptr<Buffer>> outputs;
  std::byte* arena = nullptr;
};

std::vector<std::shared_ptr<Buffer>> allocate_outputs(const Executable& executable);
// The results of a run, by its output buffers; null where a result is an input's memory.
std::vector<std::shared_ptr<Buffer>> results_of(const Executable& executable,
                                                std::span<const std::shared_ptr<Buffer>> outputs);
Argument argument_at(const Executable& executable, const ArgumentSlot& slot,
                     std::span<void* const> inputs, const ExecutableMemory& memory);

// Runs one step, whose arguments are those of its grids one after the other; a GPU is not waited
// for.
void run_step(const Executable& executable, const ExecutableStep& step, const Argument* arguments);

// Runs all steps with new memory. `inputs[i]` is the address that slots of input i name, in the
// executable's memory. Returns one buffer a result, null where that is an input's memory. Work on a
// GPU is begun, not waited for. With `times` each step is waited for and timed. Thread safe.
std::vector<std::shared_ptr<Buffer>> run_executable(const Executable& executable,
                                                    std::span<void* const> inputs,
                                                    LaunchTimes* times = nullptr);
// The same in memory that the caller has made for the outputs, as `allocate_outputs` does.
void run_executable(const Executable& executable, std::span<void* const> inputs,
                    std::vector<std::shared_ptr<Buffer>> outputs);

// Runs one step by calling `run`, and notes how long that took.
template <typename Run>
void run_timed(LaunchTimes& times, std::size_t step, Run&& run) {
  auto begin = std::chrono::steady_clock::now();
  run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (times.seconds.size() <= step) times.seconds.resize(step + 1, seconds);
  times.seconds[step] = std::min(times.seconds[step], seconds);
}

}  // namespace tilewright
