#include "graph/run/plan.h"

#include <array>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/launch/launch.h"
#include "graph/run/plan_body.h"
#include "runtime/base/error.h"
#include "runtime/device_pool.h"
#include "runtime/trace.h"

namespace tilewright::graph {

void run_program(const Plan::Body& body, std::uint32_t program, const Grid& grid,
                 const Argument* arguments) {
  TraceSpan span("launch", body.programs[program].name);
  if (const auto& artifact = body.artifacts[program])
    return launch_on(body.device, *artifact, grid, arguments);
  const ir::Function& function = body.functions[program];
  std::span<const Argument> all{arguments, function.params.size()};
  if (body.shuffle_interpreted)
    ir::interpret_shuffled(function, grid, all, *body.shuffle_interpreted);
  else
    ir::interpret(function, grid, all);
}

void run_batch(const Plan::Body& body, const Batch& batch, const Argument* arguments) {
  const Launch& first = body.launches[batch.first];
  if (batch.count == 1) return run_program(body, first.program, first.grid, arguments);
  if (const auto& artifact = body.batch_artifacts[first.program]) {
    TraceSpan span("launch", body.programs[first.program].name);
    return launch_on(body.device, *artifact, {body.grids.data() + batch.first, batch.count},
                     arguments, batch.spread);
  }
  for (std::uint32_t i = 0; i < batch.count; ++i)
    run_program(body, first.program, body.grids[batch.first + i],
                arguments + i * first.place_count);
}

std::vector<std::shared_ptr<Buffer>> Plan::run(std::span<void* const> inputs,
                                               LaunchTimes* times) const {
  const Body& body = *body_;
  std::vector<std::shared_ptr<Buffer>> buffers;
  DeviceMemory* memory = body.device.memory();
  for (std::int64_t bytes : body.output_bytes) buffers.push_back(Buffer::allocate(bytes, memory));
  std::shared_ptr<Buffer> arena;
  if (body.arena_bytes > 0) {
    MemoryOwner owner("intermediate values");
    arena = Buffer::allocate(body.arena_bytes, memory);
  }
  if (times) {
    body.device.synchronize();
    ++times->runs;
  }
  std::vector<Argument> arguments;
  for (const Batch& batch : body.batches) {
    const Launch& first = body.launches[batch.first];
    arguments.resize(std::size_t{first.place_count} * batch.count);
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      const Place& place = body.places[first.first_place + i];
      switch (place.kind) {
        case PlaceKind::input: arguments[i].pointer = inputs[place.index]; break;
        case PlaceKind::output: arguments[i].pointer = buffers[place.index]->data(); break;
        case PlaceKind::constant: arguments[i].pointer = body.constants[place.index]->data(); break;
        case PlaceKind::arena:
          arguments[i].pointer = static_cast<std::byte*>(arena->data()) + place.offset;
          break;
        case PlaceKind::number: arguments[i].integer = place.offset; break;
      }
    }
    if (!times) [[likely]] {
      run_batch(body, batch, arguments.data());
      continue;
    }
    run_timed(*times, static_cast<std::size_t>(&batch - body.batches.data()), [&] {
      run_batch(body, batch, arguments.data());
      body.device.synchronize();
    });
  }
  std::vector<std::shared_ptr<Buffer>> outputs;
  for (std::size_t i = 0; i < body.outputs.size(); ++i)
    outputs.push_back(body.outputs[i].input ? nullptr : buffers[body.output_index[i]]);
  return outputs;
}

const std::vector<PlanOutput>& Plan::outputs() const { return body_->outputs; }
const std::vector<PackedWeight>& Plan::packed_weights() const { return body_->packed_weights; }
std::span<const PlanProgram> Plan::programs() const { return body_->programs; }
std::string Plan::program_text(std::size_t program) const {
  return ir::print(body_->functions.at(program));
}
const Device& Plan::device() const { return body_->device; }
std::int64_t Plan::launches() const { return static_cast<std::int64_t>(body_->batches.size()); }
std::vector<double> Plan::program_seconds(const LaunchTimes& times) const {
  std::vector<double> result(body_->programs.size());
  for (std::size_t i = 0; i < times.seconds.size(); ++i)
    result[body_->launches[body_->batches[i].first].program] += times.seconds[i];
  return result;
}
std::int64_t Plan::arena_bytes() const { return body_->arena_bytes; }
double Plan::lower_seconds() const { return body_->lower_seconds; }
double Plan::compile_seconds() const { return body_->compile_seconds; }
const TunedChoices& Plan::choices() const { return body_->choices; }
Hash Plan::key() const { return body_->key; }

}  // namespace tilewright::graph
