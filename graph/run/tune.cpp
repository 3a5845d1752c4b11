#include "graph/run/tune.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "dsl/compile.h"
#include "dsl/launch.h"
#include "graph/lower/region_key.h"
#include "runtime/buffer.h"

namespace tilewright::graph {
namespace {

constexpr int rounds = 5;
constexpr double round_seconds = 0.5e-3;  // of one candidate in one round
constexpr double worthwhile = 0.98;       // of the default's time

// Elements from the start of a storage that the region may touch.
std::int64_t reach_of(const Placement& view) {
  std::int64_t last = view.offset;
  for (int axis = 0; axis < view.shape.rank(); ++axis)
    last += std::max<std::int64_t>(0, (view.shape[axis] - 1) * view.strides[axis]);
  return last + 1;
}

// Memory for every storage of the region: zeros, and for attention the position at which all keys
// are seen; and scratch memory.
class TrialMemory {
 public:
  TrialMemory(const TaskList& list, const Region& region, DeviceMemory* memory)
      : storages_(storages_of(list, region)) {
    std::vector<std::int64_t> elements(storages_.size(), 1);
    auto reach = [&](StorageId id, std::int64_t count) {
      auto at = static_cast<std::size_t>(std::ranges::find(storages_, id) - storages_.begin());
      if (at < elements.size()) elements[at] = std::max(elements[at], count);
    };
    for (TaskId id : region.tasks) {
      const Task& task = list.tasks[id];
      for (const TaskOperand& operand : task.operands)
        if (!operand.number) reach(operand.storage, reach_of(operand.view));
      std::int64_t rows = std::max<std::int64_t>(0, task.scatter_size - 1) * task.scatter_stride;
      reach(task.storage, reach_of(task.place) + rows);
    }
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      std::int64_t bytes = elements[i] * size_bytes(list.storages[storages_[i]].dtype);
      buffers_.push_back(Buffer::allocate(bytes, memory));
      std::vector<std::byte> zeros(static_cast<std::size_t>(bytes));
      write(i, 0, zeros.data(), zeros.size());
    }
    const Task& first = list.tasks[region.tasks[0]];
    if (first.kind == TaskKind::attention && first.operands.size() > 3) see_all_keys(list, first);
  }

  // Enough for what `region` hands on between its programs.
  void reserve(const LoweredRegion& region, DeviceMemory* memory) {
    for (std::size_t i = 0; i < region.scratch.size(); ++i) {
      const Scratch& scratch = region.scratch[i];
      std::int64_t bytes = scratch.elements * size_bytes(scratch.dtype);
      std::size_t at = storages_.size() + i;
      if (at == buffers_.size()) buffers_.emplace_back();
      if (buffers_[at] == nullptr || buffers_[at]->size_bytes() < bytes)
        buffers_[at] = Buffer::allocate(bytes, memory);
    }
  }
  std::vector<Argument> arguments(const LoweredProgram& program) const {
    std::vector<Argument> result;
    for (std::uint32_t i : program.memory) result.push_back({buffers_[i]->data()});
    return result;
  }

 private:
  void see_all_keys(const TaskList& list, const Task& attention) {
    const TaskOperand& position = attention.operands[3];
    std::int64_t last = attention.operands[1].view.shape[2] - attention.operands[0].view.shape[2];
    auto at = static_cast<std::size_t>(std::ranges::find(storages_, position.storage) -
                                       storages_.begin());
    auto size = static_cast<std::size_t>(size_bytes(list.storages[position.storage].dtype));
    write(at, position.view.offset * static_cast<std::int64_t>(size), &last, size);
  }

  void write(std::size_t buffer, std::int64_t offset, const void* from, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(buffers_[buffer]->data()) + offset;
    if (DeviceMemory* memory = buffers_[buffer]->memory())
      memory->copy_from_host(to, from, static_cast<std::int64_t>(bytes));
    else
      std::memcpy(to, from, bytes);
  }

  std::vector<StorageId> storages_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // of storages, then of scratch
};

struct Candidate {
  LoweredRegion lowered;
  std::vector<std::shared_ptr<const Artifact>> artifacts;  // of its programs, as the next
  std::vector<std::vector<Argument>> arguments = {};
  int calls = 1;
  double best = std::numeric_limits<double>::infinity();
};

Candidate candidate_of(LoweredRegion lowered, const Device& device) {
  Candidate result{std::move(lowered), {}};
  for (const LoweredProgram& program : result.lowered.programs)
    result.artifacts.push_back(dsl::compile(program.function, device));
  return result;
}

double seconds_of(const Candidate& candidate, const Device& device) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < candidate.calls; ++i)
    for (std::size_t at = 0; at < candidate.artifacts.size(); ++at)
      launch_on(device, *candidate.artifacts[at], candidate.lowered.programs[at].grid,
                candidate.arguments[at].data());
  device.synchronize();
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / candidate.calls;
}

}  // namespace

LoweredRegion tune(const Graph& graph, const TaskList& list, const Region& region,
                   const Device& device, const BlockSizes& wanted) {
  dsl::Target target = device.target();
  LoweredRegion chosen = lower(graph, list, region, target, wanted);
  std::vector<BlockSizes> others = alternatives(list, region, target, chosen.blocks);
  if (others.empty()) return chosen;
  std::vector<Candidate> candidates;
  candidates.push_back(candidate_of(std::move(chosen), device));
  for (const BlockSizes& blocks : others)
    candidates.push_back(candidate_of(lower(graph, list, region, target, blocks), device));
  TrialMemory memory(list, region, device.memory());
  for (const Candidate& candidate : candidates) memory.reserve(candidate.lowered, device.memory());
  for (Candidate& candidate : candidates) {
    for (const LoweredProgram& program : candidate.lowered.programs)
      candidate.arguments.push_back(memory.arguments(program));
    seconds_of(candidate, device);  // the first call touches memory and code
    double once = std::max(1e-8, seconds_of(candidate, device));
    candidate.calls = static_cast<int>(std::clamp(round_seconds / once, 1.0, 10'000.0));
  }
  for (int round = 0; round < rounds; ++round)
    for (Candidate& candidate : candidates)
      candidate.best = std::min(candidate.best, seconds_of(candidate, device));
  auto best = std::ranges::min_element(candidates, {}, &Candidate::best);
  if (best->best > candidates[0].best * worthwhile) best = candidates.begin();
  return std::move(best->lowered);
}

}  // namespace tilewright::graph
