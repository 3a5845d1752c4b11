// One search for the configuration of a kernel written by hand: runs candidates on the caller's
// memory and leaves that memory as it was. What TunedKernel (kernel_tuner.h) does when it meets a
// question that the database cannot answer.
#pragma once

#include "autotune/choice.h"
#include "autotune/kernel_tuner.h"
#include "autotune/measure/decision.h"

namespace tilewright::autotune {

// A launch that is ready to be made: constexprs and scalars filled in.
struct KernelCandidate {
  KernelCall call;
  Grid grid;
  std::vector<dsl::LaunchArgument> arguments;
};

class KernelSearch {
 public:
  using Candidates = std::function<KernelCandidate(const Point&)>;
  KernelSearch(const dsl::Kernel& kernel, const KernelTuning& tuning, const Space& space,
               const Point& preferred, Candidates candidates);
  // Measures what `known` lacks, as far as the budget goes. Raises `Error` where the default itself
  // fails.
  std::vector<Finding> run(History known);

 private:
  std::string checked_run(const KernelCandidate& candidate);
  Finding check(const Point& point);
  std::vector<double> measure(const std::vector<Proposal>& batch);
  void decide(const History& history);
  double seconds(const Point& point);
  void run_once(const KernelCandidate& candidate);
  void reset(const KernelCandidate& candidate);
  std::string results(const KernelCandidate& candidate) const;
  std::string difference(const std::string& expected, const std::string& actual) const;
  void save();
  void restore();
  Finding& noted(const Point& point);

  const dsl::Kernel& kernel_;
  const KernelTuning& tuning_;
  const Space& space_;
  Point preferred_;
  Candidates candidates_;
  Random random_{1};
  std::vector<dsl::LaunchArgument> memory_;    // arguments whose memory is known
  std::vector<std::vector<std::byte>> saved_;  // of each
  std::string expected_;                       // what the default computes
  std::vector<Finding> findings_;
  double preferred_seconds_ = 0;
};

}  // namespace tilewright::autotune
