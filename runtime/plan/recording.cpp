#include "runtime/plan/recording.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/plan/gpu_recording.h"
#include "runtime/trace.h"

namespace tilewright {

struct Recording::Body {
  // A kernel that runs on the calling thread alone is called directly.
  struct RecordedLaunch {
    const HostEntry* host;  // null: through the pool, or a host call
    const Argument* arguments;
    Grid grid;
    std::int64_t count;
    const ExecutableStep* step;
  };
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<SharedArena> arena;
  int arena_number = 0;
  std::shared_ptr<Buffer> scratch;
  ExecutableMemory memory;
  std::vector<std::shared_ptr<Buffer>> results;
  std::vector<Argument> arguments;
  std::vector<RecordedLaunch> steps;
  std::vector<std::vector<std::uint32_t>> patches;  // arguments that are input i
  std::vector<void*> known;                         // addresses that the arguments hold
  int threads = 0;
  std::optional<GpuRecording> gpu;  // once the first call has said where the inputs lie

  // Writes the addresses that lie in the arena; gives where they stand.
  std::vector<std::uint32_t> set_arena_addresses() {
    std::vector<std::uint32_t> changed;
    memory.arena = arena->data();
    const std::vector<ArgumentSlot>& slots = executable->slots;
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
      if (slots[i].kind != SlotKind::arena) continue;
      arguments[i] = argument_at(*executable, slots[i], {}, memory);
      changed.push_back(i);
    }
    arena_number = arena->number();
    return changed;
  }
  void set_fixed_addresses();
  void set_addresses(std::span<void* const> inputs);
  void run_on_host(std::int64_t times, LaunchTimes* measured);
  void run_one(const RecordedLaunch& step, void* scratch_memory) const {
    if (step.host != nullptr && !is_tracing())
      step.host->load()(step.arguments, step.grid.size, 0, step.count, scratch_memory);
    else
      run_step(*executable, *step.step, step.arguments);
  }
  void resolve_steps();
};

Recording::Recording(std::shared_ptr<const Executable> executable,
                     std::shared_ptr<SharedArena> arena)
    : body_(std::make_unique<Body>()) {
  Body& b = *body_;
  b.executable = std::move(executable);
  const Executable& e = *b.executable;
  check(e.may_be_recorded(), "the host works between launches that are recorded for a GPU");
  b.memory.outputs = allocate_outputs(e);
  b.arena = arena ? std::move(arena) : std::make_shared<SharedArena>(e.memory);
  b.arena->reserve(e.arena_bytes);
  b.set_fixed_addresses();
  b.set_arena_addresses();
  b.results = results_of(e, b.memory.outputs);
  if (e.gpu < 0) b.resolve_steps();
}

Recording::Recording(Recording&&) noexcept = default;
Recording::~Recording() = default;

// Sets the addresses of everything that is neither an input nor in the arena, and notes where the
// inputs stand.
void Recording::Body::set_fixed_addresses() {
  const std::vector<ArgumentSlot>& slots = executable->slots;
  arguments.resize(slots.size());
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind == SlotKind::arena) continue;
    if (slots[i].kind != SlotKind::input) {
      arguments[i] = argument_at(*executable, slots[i], {}, memory);
      continue;
    }
    if (patches.size() <= slots[i].index) patches.resize(slots[i].index + 1);
    patches[slots[i].index].push_back(i);
  }
  known.resize(patches.size(), nullptr);
}

void Recording::Body::resolve_steps() {
  threads = thread_count();
  std::int64_t scratch_bytes = 0;
  steps.clear();
  for (const ExecutableStep& step : executable->steps) {
    const Grid& grid = executable->grids[step.first_grid];
    const auto& artifact = executable->kernels[step.kernel].single;
    std::int64_t count = grid.count();
    bool alone =
        artifact != nullptr && artifact->host && step.grids == 1 && (count == 1 || threads == 1);
    if (alone) scratch_bytes = std::max(scratch_bytes, artifact->scratch_bytes);
    steps.push_back({alone ? &artifact->host : nullptr, arguments.data() + step.first_slot, grid,
                     count, &step});
  }
  if (scratch_bytes > 0) scratch = Buffer::allocate(scratch_bytes);
}

void Recording::Body::set_addresses(std::span<void* const> inputs) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == inputs[i]) continue;
    known[i] = inputs[i];
    for (std::uint32_t argument : patches[i]) arguments[argument].pointer = inputs[i];
    if (gpu) gpu->update(patches[i]);
  }
  if (arena_number == arena->number()) [[likely]]
    return;
  std::vector<std::uint32_t> changed = set_arena_addresses();
  if (gpu) gpu->update(changed);
}

void Recording::Body::run_on_host(std::int64_t times, LaunchTimes* measured) {
  if (threads != thread_count()) resolve_steps();
  void* scratch_memory = scratch ? scratch->data() : nullptr;
  if (measured) [[unlikely]] {
    ++measured->runs;
    for (std::size_t i = 0; i < steps.size(); ++i)
      run_timed(*measured, i, [&] { run_one(steps[i], scratch_memory); });
    --times;
  }
  for (; times > 0; --times)
    for (const RecordedLaunch& step : steps) run_one(step, scratch_memory);
}

const std::vector<std::shared_ptr<Buffer>>& Recording::run(std::span<void* const> inputs,
                                                           std::int64_t times,
                                                           LaunchTimes* measured) {
  Body& b = *body_;
  b.set_addresses(inputs);
  if (b.executable->gpu >= 0) {
    if (!b.gpu) b.gpu.emplace(*b.executable, b.arguments);
    b.gpu->start(times);
  } else {
    b.run_on_host(times, measured);
  }
  return b.results;
}

std::int64_t Recording::updates() const { return body_->gpu ? body_->gpu->updates() : 0; }

}  // namespace tilewright
