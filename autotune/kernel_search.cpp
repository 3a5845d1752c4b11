#include "autotune/kernel_search.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "autotune/measure/difference.h"
#include "dsl/launch/device.h"
#include "runtime/base/error.h"
#include "runtime/cuda/graph_clock.h"

namespace tilewright::autotune {
namespace {

constexpr double sample_seconds = 0.3e-3;

// A run that takes this many times as long as the default is stopped; but since the machine may be
// busy, each gets at least a moment.
constexpr double hopeless = 10, least_seconds_to_end = 0.25;

void copy_out(std::byte* to, const dsl::LaunchArgument& from) {
  if (DeviceMemory* memory = default_device().memory())
    memory->copy_to_host(to, from.value().pointer, from.size_bytes());
  else
    std::memcpy(to, from.value().pointer, static_cast<std::size_t>(from.size_bytes()));
}

void copy_in(const dsl::LaunchArgument& to, const std::byte* from) {
  void* memory = const_cast<void*>(to.value().pointer);
  if (DeviceMemory* device = default_device().memory())
    device->copy_from_host(memory, from, to.size_bytes());
  else
    std::memcpy(memory, from, static_cast<std::size_t>(to.size_bytes()));
}

// Runs candidates on the caller's memory, and leaves that memory as it was.
class KernelRunner final : public Runner {
 public:
  KernelRunner(const dsl::Kernel& kernel, const KernelTuning& tuning, const Space& space,
               const Point& preferred, Candidates candidates);
  Failure check(const Point& point) override;
  double seconds(const Point& point) override;
  void end_series() override { restore(); }
  Device device() const override { return default_device(); }

 private:
  Failure run_and_compare(const Point& point);
  ChildResult checked_run(const KernelCandidate& candidate);
  void run_once(const KernelCandidate& candidate);
  double seconds_on_gpu(const KernelCandidate& candidate);
  void reset(const KernelCandidate& candidate);
  std::string results(const KernelCandidate& candidate) const;
  std::string difference(const std::string& expected, const std::string& actual) const;
  void save();
  void restore();

  const dsl::Kernel& kernel_;
  const KernelTuning& tuning_;
  const Space& space_;
  const Point& preferred_;
  Candidates candidates_;
  std::vector<dsl::LaunchArgument> memory_;    // arguments whose memory is known
  std::vector<std::vector<std::byte>> saved_;  // of each
  std::string expected_;                       // what the default computes
  double preferred_check_seconds_ = 0;         // of its first run, with its child
};

KernelRunner::KernelRunner(const dsl::Kernel& kernel, const KernelTuning& tuning,
                           const Space& space, const Point& preferred, Candidates candidates)
    : kernel_(kernel),
      tuning_(tuning),
      space_(space),
      preferred_(preferred),
      candidates_(std::move(candidates)) {
  for (const dsl::LaunchArgument& argument : candidates_(preferred).arguments) {
    if (!argument.is_pointer()) continue;
    if (argument.knows_size()) {
      if (argument.size_bytes() > 0) memory_.push_back(argument);
      continue;
    }
    require(tuning.is_idempotent, "[", kernel.name(),
            "] tuning runs the kernel several times, and an argument's memory has no known size, "
            "so it cannot be put back; give a vector or LaunchArgument(memory, dtype, elements), "
            "or set is_idempotent");
  }
  save();
}

void KernelRunner::save() {
  for (const dsl::LaunchArgument& argument : memory_) {
    saved_.emplace_back(static_cast<std::size_t>(argument.size_bytes()));
    copy_out(saved_.back().data(), argument);
  }
}

// Memory that is only read is not restored, so it may be read-only.
void KernelRunner::restore() {
  std::vector<std::byte> now;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    now.resize(saved_[i].size());
    copy_out(now.data(), memory_[i]);
    if (now != saved_[i]) copy_in(memory_[i], saved_[i].data());
  }
}

void KernelRunner::reset(const KernelCandidate& candidate) {
  const std::vector<std::string>& names = kernel_.parameter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::find(tuning_.reset_to_zero, names[i]) != tuning_.reset_to_zero.end())
      copy_in(candidate.arguments[i],
              std::vector<std::byte>(static_cast<std::size_t>(candidate.arguments[i].size_bytes()))
                  .data());
}

void KernelRunner::run_once(const KernelCandidate& candidate) {
  reset(candidate);
  if (tuning_.pre_hook) tuning_.pre_hook(candidate.call);
  kernel_.launch_with(candidate.grid, candidate.arguments, candidate.knobs);
  default_device().synchronize();
  if (tuning_.post_hook) tuning_.post_hook(candidate.call);
}

std::string KernelRunner::results(const KernelCandidate& candidate) const {
  std::string bytes;
  for (const dsl::LaunchArgument& argument : candidate.arguments) {
    if (!argument.is_pointer() || argument.size_bytes() == 0) continue;
    std::size_t at = bytes.size();
    bytes.resize(at + static_cast<std::size_t>(argument.size_bytes()));
    copy_out(reinterpret_cast<std::byte*>(bytes.data() + at), argument);
  }
  return bytes;
}

std::string KernelRunner::difference(const std::string& expected, const std::string& actual) const {
  if (expected.size() != actual.size()) return "there are other results";
  std::size_t at = 0;
  for (const dsl::LaunchArgument& argument : memory_) {
    auto size = static_cast<std::size_t>(argument.size_bytes());
    auto part = [&](const std::string& all) {
      return std::span(reinterpret_cast<const std::byte*>(all.data()) + at, size);
    };
    double tolerance = std::max(rounding_of(argument.dtype()),
                                is_floating(argument.dtype()) ? tuning_.tolerance : 0);
    std::string one =
        autotune::difference(argument.dtype(), part(expected), part(actual), tolerance);
    if (!one.empty()) return one;
    at += size;
  }
  return {};
}

// The candidate's results in memory. In a child, unless the device is a GPU.
ChildResult KernelRunner::checked_run(const KernelCandidate& candidate) {
  auto run = [&] {
    run_once(candidate);
    return results(candidate);
  };
  if (default_device().is_cuda()) {
    ChildResult result{ChildEnd::done, run()};
    restore();
    return result;
  }
  ChildLimits limits = tuning_.limits;
  if (preferred_check_seconds_ > 0)
    limits.seconds = std::min(limits.seconds,
                              std::max(least_seconds_to_end, hopeless * preferred_check_seconds_));
  return run_in_child(run, limits);
}

Failure KernelRunner::run_and_compare(const Point& point) {
  KernelCandidate candidate = candidates_(point);
  kernel_.bind(candidate.arguments, candidate.knobs);
  auto begin = std::chrono::steady_clock::now();
  ChildResult result = checked_run(candidate);
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (Failure failure = failure_of(result)) return failure;
  if (point == preferred_) {
    preferred_check_seconds_ = spent.count();
    expected_ = std::move(result.text);
    return {};
  }
  std::string difference = this->difference(expected_, result.text);
  return difference.empty() ? Failure{} : Failure{Status::wrong_result, difference};
}

Failure KernelRunner::check(const Point& point) {
  Failure failure;
  try {
    failure = run_and_compare(point);
  } catch (const std::exception& error) {
    failure = failure_of(error);
  }
  require(!failure || point != preferred_, "[", kernel_.name(), "] the default configuration, ",
          space_.text(point), ", fails: ", failure.reason);
  return failure;
}

// Hooks run on the host, so a kernel with hooks is not timed inside a CUDA graph.
double KernelRunner::seconds_on_gpu(const KernelCandidate& candidate) {
  dsl::BoundLaunch bound = kernel_.bind(candidate.arguments, candidate.knobs);
  cuda::Context& context = cuda::context(default_device().ordinal());
  std::vector<cuda::PreparedLaunch> launches;
  launches.emplace_back(context, *bound.artifact, candidate.grid);
  launches.back().set_arguments(bound.arguments.data());
  return cuda::GraphClock(context, std::move(launches)).seconds(sample_seconds);
}

double KernelRunner::seconds(const Point& point) {
  KernelCandidate candidate = candidates_(point);
  reset(candidate);
  bool has_hooks = tuning_.pre_hook || tuning_.post_hook;
  if (default_device().is_cuda() && !has_hooks && candidate.grid.count() > 0)
    return seconds_on_gpu(candidate);
  int calls = 0;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> spent{};
  do {
    if (tuning_.pre_hook) tuning_.pre_hook(candidate.call);
    kernel_.launch_with(candidate.grid, candidate.arguments, candidate.knobs);
    if (tuning_.post_hook) tuning_.post_hook(candidate.call);
    default_device().synchronize();
    ++calls;
    spent = std::chrono::steady_clock::now() - begin;
  } while (spent.count() < sample_seconds);
  return spent.count() / calls;
}

}  // namespace

std::vector<Finding> tune_kernel(const dsl::Kernel& kernel, const KernelTuning& tuning,
                                 const Space& space, const Point& preferred,
                                 const Candidates& candidates, History known) {
  double begin = steady_seconds();
  KernelRunner runner(kernel, tuning, space, preferred, candidates);
  Problem problem{&space, preferred, {}, {}, {}};
  if (tuning.estimate)
    problem.estimate = [&](const Point& point) { return tuning.estimate(candidates(point).call); };
  TuningListener listener;
  if (tuning.listener)
    listener = [&](const Tuning&, const Finding& latest) {
      tuning.listener(space.text(latest.point), latest.least, latest.reason);
    };
  Budget left = tuning.budget;
  left.seconds = std::max(0.0, left.seconds - (steady_seconds() - begin));
  return tune(problem, runner, {tuning.strategy, left}, std::move(known), listener).measured;
}

}  // namespace tilewright::autotune
