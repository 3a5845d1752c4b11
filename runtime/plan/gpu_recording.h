// The steps of an executable as one CUDA graph, with arguments that can change.
//
// Every launch is prepared with the addresses it has at first, and the graph is made of them. When
// an address changes (an input that lies elsewhere in this call) the launches that hold it are
// changed in the graph, and nothing else is done: a call whose inputs lie where they lay is one
// call of the driver.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/cuda/graph.h"
#include "runtime/plan/executable.h"

namespace tilewright {

class GpuRecording {
 public:
  // `arguments`: of all launches, as its slots; they stay where they are.
  GpuRecording(const Executable& executable, const std::vector<Argument>& arguments);
  // The arguments at these slots have changed.
  void update(const std::vector<std::uint32_t>& slots);
  // All launches, `times` times over, as one graph; a graph is kept for each of a few numbers.
  void start(std::int64_t times);
  std::int64_t updates() const { return updates_; }  // of launches, so far

 private:
  const std::vector<Argument>& arguments_;
  std::vector<std::uint32_t> launch_of_slot_;  // those of empty grids have none
  std::vector<std::uint32_t> first_slot_;      // of each launch
  std::vector<cuda::PreparedLaunch> launches_;
  cuda::KernelGraph& graph_of(std::int64_t times);
  cuda::Context& context_;
  std::map<std::int64_t, cuda::KernelGraph> graphs_;  // by times
  std::vector<bool> is_stale_;                        // by launch
  bool any_stale_ = false;
  std::int64_t updates_ = 0;
};

}  // namespace tilewright
