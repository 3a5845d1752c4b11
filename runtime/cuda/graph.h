// Launches that the GPU runs by itself, one after the other, started by one call (a CUDA graph).
//
// The graph is built node by node from prepared launches, not captured from a stream: nothing has
// to run for it, nothing of the process's other threads can disturb it, and the node of each launch
// is known, so that a launch whose arguments change is changed in place. Each node follows the one
// before it; where both kernels and driver can, it begins before that one has ended
// (programmatic dependent launch).
//
// A graph may hold its launches several times in a row, for work in which each round reads the
// in-place results of the previous round: many steps for one call of the driver.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/launch.h"

namespace tilewright::cuda {

// One thread at a time. The launches must outlive it, at the same addresses.
class KernelGraph {
 public:
  KernelGraph(Context& context, const std::vector<PreparedLaunch>& launches,
              std::int64_t times = 1);
  ~KernelGraph();
  KernelGraph(const KernelGraph&) = delete;
  KernelGraph& operator=(const KernelGraph&) = delete;

  // The arguments of launch `i` have changed; its kernel and grid have not.
  void update(std::size_t i);
  // Puts the whole graph into the thread's stream; or its launches, one by one
  // (runs_one_by_one).
  void start();

 private:
  void add_nodes();
  Context& context_;
  const std::vector<PreparedLaunch>& launches_;
  std::int64_t times_;
  std::shared_ptr<const std::string> text_;  // which kernels it has, for errors
  GraphHandle graph_ = nullptr;
  GraphExecHandle executable_ = nullptr;
  std::vector<GraphNodeHandle> nodes_;  // of all launches, once and once again
};

}  // namespace tilewright::cuda
