// The time of launches on a GPU, by the GPU's own clock.
//
// They are the nodes of a CUDA graph between two events, so that no host time is included. Kernels
// of a few microseconds follow each other as in a recorded model and can be distinguished, whereas
// single launches would all take as long as a launch.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/graph.h"

namespace tilewright::cuda {

// One thread at a time. The objects that the launches were prepared from must outlive it.
class GraphClock {
 public:
  GraphClock(Context& context, std::vector<PreparedLaunch> launches);
  // Seconds that all launches take, one after the other: the mean of as many times as take
  // `at_least_seconds`, after one that is not counted. Waits for earlier work in the stream.
  double seconds(double at_least_seconds);

 private:
  double seconds_of(std::int64_t times);
  std::vector<PreparedLaunch> launches_;
  KernelGraph graph_;
  Event begin_, end_;
};

}  // namespace tilewright::cuda
