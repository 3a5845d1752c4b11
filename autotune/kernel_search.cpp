#include "autotune/kernel_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "autotune/measure/difference.h"
#include "autotune/measure/statistics.h"
#include "dsl/device.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double sample_seconds = 0.3e-3;
constexpr int search_rounds = 5;
constexpr std::size_t finalists = 3;

Status status_of(ChildEnd end) {
  switch (end) {
    case ChildEnd::done: return Status::ok;
    case ChildEnd::raised: return Status::compile_failed;
    case ChildEnd::exited:
    case ChildEnd::crashed: return Status::crashed;
    case ChildEnd::timed_out: return Status::timed_out;
    case ChildEnd::out_of_memory: return Status::out_of_memory;
  }
  return Status::crashed;
}

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

}  // namespace

KernelSearch::KernelSearch(const dsl::Kernel& kernel, const KernelTuning& tuning,
                           const Space& space, const Point& preferred, Candidates candidates)
    : kernel_(kernel),
      tuning_(tuning),
      space_(space),
      preferred_(preferred),
      candidates_(std::move(candidates)) {
  for (const dsl::LaunchArgument& argument : candidates_(preferred).arguments) {
    if (!argument.is_pointer()) continue;
    if (argument.size_bytes() > 0) {
      memory_.push_back(argument);
      continue;
    }
    require(tuning.is_idempotent, "[", kernel.name(),
            "] tuning runs the kernel several times, and an argument's memory has no known size, "
            "so it cannot be put back; give a vector or LaunchArgument(memory, dtype, elements), "
            "or set is_idempotent");
  }
}

void KernelSearch::save() {
  for (const dsl::LaunchArgument& argument : memory_) {
    saved_.emplace_back(static_cast<std::size_t>(argument.size_bytes()));
    copy_out(saved_.back().data(), argument);
  }
}

// Memory that is only read is not written, so that what lies there may be read-only.
void KernelSearch::restore() {
  std::vector<std::byte> now;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    now.resize(saved_[i].size());
    copy_out(now.data(), memory_[i]);
    if (now != saved_[i]) copy_in(memory_[i], saved_[i].data());
  }
}

void KernelSearch::reset(const KernelCandidate& candidate) {
  const std::vector<std::string>& names = kernel_.parameter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::find(tuning_.reset_to_zero, names[i]) != tuning_.reset_to_zero.end())
      copy_in(candidate.arguments[i],
              std::vector<std::byte>(static_cast<std::size_t>(candidate.arguments[i].size_bytes()))
                  .data());
}

void KernelSearch::run_once(const KernelCandidate& candidate) {
  reset(candidate);
  if (tuning_.pre_hook) tuning_.pre_hook(candidate.call);
  kernel_.launch_with(candidate.grid, candidate.arguments);
  default_device().synchronize();
  if (tuning_.post_hook) tuning_.post_hook(candidate.call);
}

std::string KernelSearch::results(const KernelCandidate& candidate) const {
  std::string bytes;
  for (const dsl::LaunchArgument& argument : candidate.arguments) {
    if (!argument.is_pointer() || argument.size_bytes() == 0) continue;
    std::size_t at = bytes.size();
    bytes.resize(at + static_cast<std::size_t>(argument.size_bytes()));
    copy_out(reinterpret_cast<std::byte*>(bytes.data() + at), argument);
  }
  return bytes;
}

std::string KernelSearch::difference(const std::string& expected, const std::string& actual) const {
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

// What the candidate leaves in memory. In a child, unless the device is a GPU.
std::string KernelSearch::checked_run(const KernelCandidate& candidate) {
  run_once(candidate);
  return results(candidate);
}

Finding KernelSearch::check(const Point& point) {
  Finding finding{point};
  auto fail = [&](Status status, std::string reason) {
    finding.status = status;
    finding.reason = std::move(reason);
  };
  try {
    KernelCandidate candidate = candidates_(point);
    kernel_.prepare(candidate.arguments);
    ChildResult result;
    if (default_device().is_cuda()) {
      result.text = checked_run(candidate);
      restore();
    } else {
      result = run_in_child([&] { return checked_run(candidate); }, tuning_.limits);
    }
    if (result.end != ChildEnd::done)
      fail(status_of(result.end), result.text);
    else if (point == preferred_)
      expected_ = std::move(result.text);
    else if (std::string difference = this->difference(expected_, result.text); !difference.empty())
      fail(Status::wrong_result, difference);
  } catch (const std::exception& error) {
    fail(Status::compile_failed, error.what());
  }
  return finding;
}

double KernelSearch::seconds(const Point& point) {
  KernelCandidate candidate = candidates_(point);
  reset(candidate);
  int calls = 0;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> spent{};
  do {
    if (tuning_.pre_hook) tuning_.pre_hook(candidate.call);
    kernel_.launch_with(candidate.grid, candidate.arguments);
    if (tuning_.post_hook) tuning_.post_hook(candidate.call);
    default_device().synchronize();
    ++calls;
    spent = std::chrono::steady_clock::now() - begin;
  } while (spent.count() < sample_seconds);
  return spent.count() / calls;
}

Finding& KernelSearch::noted(const Point& point) {
  auto at = std::ranges::find(findings_, point, &Finding::point);
  if (at != findings_.end()) return *at;
  findings_.push_back({point});
  return findings_.back();
}

// Checks each proposal and times those that passed, together with the default.
std::vector<double> KernelSearch::measure(const std::vector<Proposal>& batch) {
  std::vector<Point> points = {preferred_};
  double effort = batch.empty() ? 1 : batch[0].effort;
  for (const Proposal& proposal : batch) {
    if (proposal.point == preferred_) continue;
    noted(proposal.point) = check(proposal.point);
    if (noted(proposal.point).status == Status::ok) points.push_back(proposal.point);
  }
  std::vector<Timing> timings = time_interleaved(
      points.size(), [&](std::size_t i) { return seconds(points[i]); },
      {std::max(1, static_cast<int>(std::lround(search_rounds * effort)))}, random_);
  restore();
  if (preferred_seconds_ == 0) preferred_seconds_ = timings[0].seconds();
  for (std::size_t i = 0; i < points.size(); ++i) {
    Finding& finding = noted(points[i]);
    if (i == 0 && !finding.samples.empty()) continue;  // the default's of the first batch stay
    finding.samples = beside(timings[i], timings[0], preferred_seconds_);
    finding.least = *std::ranges::min_element(timings[i].samples);
  }
  std::vector<double> result;
  for (const Proposal& proposal : batch) {
    const Finding& finding = noted(proposal.point);
    result.push_back(finding.status == Status::ok ? finding.least : infinity);
    if (tuning_.listener)
      tuning_.listener(space_.text(proposal.point), result.back(), finding.reason);
  }
  return result;
}

void KernelSearch::decide(const History& history) {
  std::vector<Point> points = {preferred_};
  for (const Trial* trial : history.ranked()) {
    if (points.size() > finalists || !std::isfinite(trial->seconds)) break;
    if (trial->point != preferred_) points.push_back(trial->point);
  }
  auto time = [&](std::size_t i) { return seconds(points[i]); };
  Verdict verdict = autotune::decide(points.size(), time, {}, random_);
  restore();
  auto note = [&](std::size_t i, const Timing& timing, const Timing& preferred) {
    if (!timing.failed()) noted(points[i]).samples = beside(timing, preferred, preferred_seconds_);
  };
  for (std::size_t i = 0; i < points.size(); ++i) note(i, verdict.timings[i], verdict.timings[0]);
  if (verdict.challenger != 0) note(verdict.challenger, verdict.repeated[1], verdict.repeated[0]);
}

std::vector<Finding> KernelSearch::run(History known) {
  save();
  Finding preferred = check(preferred_);
  require(preferred.status == Status::ok, "[", kernel_.name(), "] the default configuration, ",
          space_.text(preferred_), ", fails: ", preferred.reason);
  if (const Trial* trial = known.find(preferred_)) preferred_seconds_ = trial->seconds;
  Problem problem{&space_, preferred_, {}, {}, {}};
  if (tuning_.estimate)
    problem.estimate = [this](const Point& point) {
      return tuning_.estimate(candidates_(point).call);
    };
  auto strategy = make_strategy(tuning_.strategy, problem, 1);
  SearchOutcome outcome = search(
      problem, *strategy, [this](const auto& batch) { return measure(batch); }, tuning_.budget,
      std::move(known));
  if (!findings_.empty()) decide(outcome.history);
  restore();
  return std::move(findings_);
}

}  // namespace tilewright::autotune
