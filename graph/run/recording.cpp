#include <algorithm>

#include "graph/run/plan_body.h"
#include "runtime/parallel.h"

namespace tilewright::graph {

struct Recording::Body {
  // A program that runs on the calling thread alone is called directly.
  struct Step {
    HostFunction host;  // null: through the pool, or interpreted
    const Argument* arguments;
    Grid grid;
    std::int64_t count;
    std::uint32_t program;
  };
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Buffer> arena, scratch;
  std::vector<std::shared_ptr<Buffer>> buffers, outputs;
  std::vector<Argument> arguments;
  std::vector<Step> steps;
  std::vector<std::vector<std::uint32_t>> patches;  // arguments that are input i
  std::vector<void*> known;                         // addresses that the arguments hold
  int threads = 0;

  void resolve_steps() {
    threads = thread_count();
    const Plan::Body& body = plan->body();
    std::int64_t scratch_bytes = 0;
    steps.clear();
    for (const Launch& launch : body.launches) {
      const auto& artifact = body.artifacts[launch.program];
      std::int64_t count = launch.grid.count();
      bool alone = artifact != nullptr && (count == 1 || threads == 1);
      if (alone) scratch_bytes = std::max(scratch_bytes, artifact->scratch_bytes);
      steps.push_back({alone ? artifact->host : nullptr, arguments.data() + launch.first_place,
                       launch.grid, count, launch.program});
    }
    if (scratch_bytes > 0) scratch = Buffer::allocate(scratch_bytes);
  }
};

Recording::Recording(std::shared_ptr<const Plan> plan) : body_(std::make_unique<Body>()) {
  Body& b = *body_;
  b.plan = std::move(plan);
  const Plan::Body& body = b.plan->body();
  for (std::int64_t bytes : body.output_bytes) b.buffers.push_back(Buffer::allocate(bytes));
  if (body.arena_bytes > 0) b.arena = Buffer::allocate(body.arena_bytes);
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
      case PlaceKind::arena:
        b.arguments[i].pointer = static_cast<std::byte*>(b.arena->data()) + place.offset;
        break;
    }
  }
  b.known.resize(b.patches.size(), nullptr);
  for (std::size_t i = 0; i < body.outputs.size(); ++i)
    b.outputs.push_back(body.outputs[i].input ? nullptr : b.buffers[body.output_index[i]]);
  b.resolve_steps();
}

Recording::Recording(Recording&&) noexcept = default;
Recording::~Recording() = default;

const std::vector<std::shared_ptr<Buffer>>& Recording::run(std::span<void* const> inputs) {
  Body& b = *body_;
  if (b.threads != thread_count()) b.resolve_steps();
  for (std::size_t i = 0; i < b.known.size(); ++i) {
    if (b.known[i] == inputs[i]) continue;
    b.known[i] = inputs[i];
    for (std::uint32_t argument : b.patches[i]) b.arguments[argument].pointer = inputs[i];
  }
  void* scratch = b.scratch ? b.scratch->data() : nullptr;
  for (const Body::Step& step : b.steps) {
    if (step.host != nullptr)
      step.host(step.arguments, step.grid.size, 0, step.count, scratch);
    else
      run_program(b.plan->body(), step.program, step.grid, step.arguments);
  }
  return b.outputs;
}

}  // namespace tilewright::graph
