#include "runtime/plan/executable.h"

#include <utility>

#include "runtime/cuda/context.h"
#include "runtime/cuda/launch.h"
#include "runtime/device_pool.h"
#include "runtime/trace.h"

namespace tilewright {
namespace {

void launch_one(const Executable& executable, const ExecutableKernel& kernel, const Grid& grid,
                const Argument* arguments) {
  if (!kernel.single) return kernel.call(grid, arguments);
  if (executable.gpu < 0) return launch(*kernel.single, grid, arguments);
  cuda::launch(cuda::context(executable.gpu), *kernel.single, grid, arguments);
}

void launch_several(const Executable& executable, const ExecutableStep& step,
                    const Argument* arguments) {
  const ExecutableKernel& kernel = executable.kernels[step.kernel];
  std::span<const Grid> grids = executable.grids_of(step);
  if (!kernel.batched) {
    for (std::size_t i = 0; i < grids.size(); ++i)
      launch_one(executable, kernel, grids[i], arguments + i * step.slots_of_a_grid);
  } else if (executable.gpu < 0) {
    launch(*kernel.batched, grids, arguments, step.spread);
  } else {
    cuda::launch(cuda::context(executable.gpu), *kernel.batched, grids, arguments);
  }
}

}  // namespace

void run_step(const Executable& executable, const ExecutableStep& step, const Argument* arguments) {
  const ExecutableKernel& kernel = executable.kernels[step.kernel];
  TraceSpan span("launch", kernel.name);
  if (step.grids == 1)
    launch_one(executable, kernel, executable.grids[step.first_grid], arguments);
  else
    launch_several(executable, step, arguments);
}

std::vector<std::shared_ptr<Buffer>> allocate_outputs(const Executable& executable) {
  std::vector<std::shared_ptr<Buffer>> outputs;
  for (std::int64_t bytes : executable.output_bytes)
    outputs.push_back(Buffer::allocate(bytes, executable.memory));
  return outputs;
}

std::vector<std::shared_ptr<Buffer>> results_of(const Executable& executable,
                                                std::span<const std::shared_ptr<Buffer>> outputs) {
  std::vector<std::shared_ptr<Buffer>> results;
  for (const std::optional<std::uint32_t>& output : executable.results)
    results.push_back(output ? outputs[*output] : nullptr);
  return results;
}

Argument argument_at(const Executable& executable, const ArgumentSlot& slot,
                     std::span<void* const> inputs, const ExecutableMemory& memory) {
  switch (slot.kind) {
    case SlotKind::input: return {.pointer = inputs[slot.index]};
    case SlotKind::output: return {.pointer = memory.outputs[slot.index]->data()};
    case SlotKind::constant: return {.pointer = executable.constants[slot.index]->data()};
    case SlotKind::arena: return {.pointer = memory.arena + slot.offset};
    case SlotKind::number: return {.integer = slot.offset};
  }
  __builtin_unreachable();
}

static void run_steps(const Executable& executable, std::span<void* const> inputs,
                      ExecutableMemory& memory, LaunchTimes* times) {
  std::shared_ptr<Buffer> arena;
  if (executable.arena_bytes > 0) {
    MemoryOwner owner("intermediate values");
    arena = Buffer::allocate(executable.arena_bytes, executable.memory);
    memory.arena = static_cast<std::byte*>(arena->data());
  }
  auto wait = [&] {
    if (executable.memory) executable.memory->synchronize();
  };
  if (times) {
    wait();
    ++times->runs;
  }
  std::vector<Argument> arguments;
  for (std::size_t number = 0; number < executable.steps.size(); ++number) {
    const ExecutableStep& step = executable.steps[number];
    arguments.resize(step.slots());
    for (std::uint32_t i = 0; i < arguments.size(); ++i)
      arguments[i] = argument_at(executable, executable.slots[step.first_slot + i], inputs, memory);
    if (!times) [[likely]] {
      run_step(executable, step, arguments.data());
      continue;
    }
    run_timed(*times, number, [&] {
      run_step(executable, step, arguments.data());
      wait();
    });
  }
}

std::vector<std::shared_ptr<Buffer>> run_executable(const Executable& executable,
                                                    std::span<void* const> inputs,
                                                    LaunchTimes* times) {
  ExecutableMemory memory{allocate_outputs(executable)};
  run_steps(executable, inputs, memory, times);
  return results_of(executable, memory.outputs);
}

void run_executable(const Executable& executable, std::span<void* const> inputs,
                    std::vector<std::shared_ptr<Buffer>> outputs) {
  ExecutableMemory memory{std::move(outputs)};
  run_steps(executable, inputs, memory, nullptr);
}

}  // namespace tilewright
