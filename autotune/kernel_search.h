// One search for the configuration of a kernel written by hand: runs candidates on the caller's
// memory and leaves that memory as it was. Used by TunedKernel (kernel_tuner.h) when it meets a
// question that the database cannot answer.
#pragma once

#include "autotune/kernel_tuning.h"
#include "autotune/tuning.h"

namespace tilewright::autotune {

// A launch that is ready to be made: constexprs and scalars filled in.
struct KernelCandidate {
  KernelCall call;
  Grid grid;
  std::vector<dsl::LaunchArgument> arguments;
  dsl::Knobs knobs;
};

using Candidates = std::function<KernelCandidate(const Point&)>;

// Measures what `known` lacks, as far as the budget goes. Raises `Error` where the default itself
// fails.
std::vector<Finding> tune_kernel(const dsl::Kernel& kernel, const KernelTuning& tuning,
                                 const Space& space, const Point& preferred,
                                 const Candidates& candidates, History known);

}  // namespace tilewright::autotune
