#include "runtime/plan/gpu_recording.h"

#include "runtime/cuda/context.h"
#include "runtime/launch_table.h"

namespace tilewright {
namespace {

constexpr std::uint32_t no_launch = 0xffffffff;  // of a slot: its launch's grid is empty
constexpr std::size_t most_graphs = 4;

}  // namespace

GpuRecording::GpuRecording(const Executable& executable, const std::vector<Argument>& arguments)
    : arguments_(arguments),
      launch_of_slot_(executable.slots.size(), no_launch),
      context_(cuda::context(executable.gpu)) {
  launches_.reserve(executable.steps.size());
  for (const ExecutableStep& step : executable.steps) {
    std::span<const Grid> grids = executable.grids_of(step);
    if (programs_of(grids) == 0) continue;
    for (std::uint32_t i = 0; i < step.slots(); ++i)
      launch_of_slot_[step.first_slot + i] = static_cast<std::uint32_t>(launches_.size());
    const ExecutableKernel& kernel = executable.kernels[step.kernel];
    launches_.emplace_back(context_, *(grids.size() == 1 ? kernel.single : kernel.batched), grids);
    launches_.back().set_arguments(arguments.data() + step.first_slot);
    first_slot_.push_back(step.first_slot);
  }
  is_stale_.resize(launches_.size());
}

cuda::KernelGraph& GpuRecording::graph_of(std::int64_t times) {
  auto found = graphs_.find(times);
  if (found != graphs_.end()) return found->second;
  if (graphs_.size() == most_graphs) graphs_.clear();
  return graphs_.try_emplace(times, context_, launches_, times).first->second;
}

void GpuRecording::update(const std::vector<std::uint32_t>& slots) {
  for (std::uint32_t slot : slots)
    if (std::uint32_t launch = launch_of_slot_[slot]; launch != no_launch)
      is_stale_[launch] = any_stale_ = true;
}

void GpuRecording::start(std::int64_t times) {
  if (any_stale_) {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (!is_stale_[i]) continue;
      launches_[i].set_arguments(arguments_.data() + first_slot_[i]);
      for (auto& [number, graph] : graphs_) graph.update(i);
      is_stale_[i] = false;
      ++updates_;
    }
    any_stale_ = false;
  }
  graph_of(times).start();
}

}  // namespace tilewright
