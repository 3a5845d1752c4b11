#include <algorithm>

#include "graph/run/gpu_recording.h"
#include "graph/run/plan_body.h"
#include "runtime/cpu/parallel.h"
#include "runtime/trace.h"

namespace tilewright::graph {

struct Recording::Body {
  // A program that runs on the calling thread alone is called directly.
  struct Step {
    HostFunction host;  // null: through the pool, or interpreted
    const Argument* arguments;
    Grid grid;
    std::int64_t count;
    const Batch* batch;
  };
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<SharedArena> arena;
  int arena_number = 0;
  std::shared_ptr<Buffer> scratch;
  std::vector<std::shared_ptr<Buffer>> buffers, outputs;
  std::vector<Argument> arguments;
  std::vector<Step> steps;
  std::vector<std::vector<std::uint32_t>> patches;  // arguments that are input i
  std::vector<void*> known;                         // addresses that the arguments hold
  int threads = 0;
  std::optional<GpuRecording> gpu;  // once the first call has said where the inputs lie

  // Writes the addresses that lie in the arena; gives where they stand.
  std::vector<std::uint32_t> set_arena_addresses() {
    std::vector<std::uint32_t> changed;
    const std::vector<Place>& places = plan->body().places;
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      if (places[i].kind != PlaceKind::arena) continue;
      arguments[i].pointer = arena->data() + places[i].offset;
      changed.push_back(i);
    }
    arena_number = arena->number();
    return changed;
  }
  void set_addresses(std::span<void* const> inputs);
  void run_on_host(std::int64_t times, LaunchTimes* measured);
  void run_step(const Step& step, void* memory) const {
    if (step.host != nullptr && !is_tracing())
      step.host(step.arguments, step.grid.size, 0, step.count, memory);
    else
      run_batch(plan->body(), *step.batch, step.arguments);
  }

  void resolve_steps() {
    threads = thread_count();
    const Plan::Body& body = plan->body();
    std::int64_t scratch_bytes = 0;
    steps.clear();
    for (const Batch& batch : body.batches) {
      const Launch& launch = body.launches[batch.first];
      const auto& artifact = body.artifacts[launch.program];
      std::int64_t count = launch.grid.count();
      bool alone = artifact != nullptr && batch.count == 1 && (count == 1 || threads == 1);
      if (alone) scratch_bytes = std::max(scratch_bytes, artifact->scratch_bytes);
      steps.push_back({alone ? artifact->host : nullptr, arguments.data() + launch.first_place,
                       launch.grid, count, &batch});
    }
    if (scratch_bytes > 0) scratch = Buffer::allocate(scratch_bytes);
  }
};

Recording::Recording(std::shared_ptr<const Plan> plan, std::shared_ptr<SharedArena> arena)
    : body_(std::make_unique<Body>()) {
  Body& b = *body_;
  b.plan = std::move(plan);
  const Plan::Body& body = b.plan->body();
  DeviceMemory* memory = body.device.memory();
  for (std::int64_t bytes : body.output_bytes) b.buffers.push_back(Buffer::allocate(bytes, memory));
  b.arena = arena ? std::move(arena) : std::make_shared<SharedArena>(memory);
  b.arena->reserve(body.arena_bytes);
  b.arguments.resize(body.places.size());
  for (std::uint32_t i = 0; i < body.places.size(); ++i) {
    const Place& place = body.places[i];
    switch (place.kind) {
      case PlaceKind::input:
        if (b.patches.size() <= place.index) b.patches.resize(place.index + 1);
        b.patches[place.index].push_back(i);
        break;
      case PlaceKind::output: b.arguments[i].pointer = b.buffers[place.index]->data(); break;
      case PlaceKind::constant: b.arguments[i].pointer = body.constants[place.index]->data(); break;
      case PlaceKind::arena: break;
      case PlaceKind::number: b.arguments[i].integer = place.offset; break;
    }
  }
  b.set_arena_addresses();
  b.known.resize(b.patches.size(), nullptr);
  for (std::size_t i = 0; i < body.outputs.size(); ++i)
    b.outputs.push_back(body.outputs[i].input ? nullptr : b.buffers[body.output_index[i]]);
  if (!body.device.is_cuda()) b.resolve_steps();
}

Recording::Recording(Recording&&) noexcept = default;
Recording::~Recording() = default;

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
  void* memory = scratch ? scratch->data() : nullptr;
  if (measured) [[unlikely]] {
    ++measured->runs;
    for (std::size_t i = 0; i < steps.size(); ++i)
      run_timed(*measured, i, [&] { run_step(steps[i], memory); });
    --times;
  }
  for (; times > 0; --times)
    for (const Step& step : steps) run_step(step, memory);
}

const std::vector<std::shared_ptr<Buffer>>& Recording::run(std::span<void* const> inputs,
                                                           std::int64_t times,
                                                           LaunchTimes* measured) {
  Body& b = *body_;
  b.set_addresses(inputs);
  if (b.plan->device().is_cuda()) {
    if (!b.gpu) b.gpu.emplace(b.plan->body(), b.arguments);
    b.gpu->start(times);
  } else {
    b.run_on_host(times, measured);
  }
  return b.outputs;
}

std::int64_t Recording::updates() const { return body_->gpu ? body_->gpu->updates() : 0; }

}  // namespace tilewright::graph
