#include "graph/tune/tune_region.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "graph/tune/region_estimate.h"
#include "runtime/cpu/beside.h"

namespace tilewright::graph {
namespace {

using autotune::Point;

class RegionRunner final : public autotune::Runner {
 public:
  RegionRunner(const TaskList& list, const Region& region, const Device& device,
               const TuneSettings& settings, const RegionSpace& space, double until)
      : settings_(settings),
        space_(space),
        device_(device),
        until_(until),
        trial_(list, region, device, settings.stop, until),
        preferred_(candidate(space.preferred)) {}

  // True if there is anything to win; answers in little time.
  bool is_worthwhile() {
    return settings_.least_seconds == 0 || preferred_.failure ||
           trial_.seconds(preferred_, settings_.least_seconds) >= settings_.least_seconds;
  }

  // Several at a time: compiling takes longer than timing.
  std::size_t prepare(std::span<const Point> batch, double until) override {
    std::erase_if(compiled_, [&](const auto& known) { return &known.second != &preferred_; });
    std::vector<RegionCandidate> results(batch.size());
    std::vector<std::uint8_t> is_ready(batch.size(), 0);
    std::atomic<std::size_t> next = 0;
    auto work = [&] {
      // The first of each thread is compiled in any case.
      for (std::size_t i; (i = next++) < batch.size();) {
        if (i >= 2 && autotune::steady_seconds() >= until) return;
        results[i] = trial_.compile(space_.blocks_of(batch[i]));
        is_ready[i] = true;
      }
    };
    run_beside(batch.size(), work);
    std::size_t ready = 0;
    for (; ready < batch.size() && is_ready[ready]; ++ready)
      compiled_.emplace(batch[ready], std::move(results[ready]));
    return ready;
  }

  autotune::Failure check(const Point& point) override {
    const RegionCandidate& one = candidate(point);
    // A candidate that was not compiled because tuning stopped has not failed, and must be tried
    // another time.
    if (one.failure) trial_.raise_if_stopped();
    if (one.failure) return one.failure;
    if (&one == &preferred_ || preferred_.failure) return {};
    // The default's results are wanted once there is another to compare with it.
    if (expected_.empty()) expected_ = trial_.results(preferred_);
    std::string difference = trial_.difference(expected_, trial_.results(one));
    if (difference.empty()) return {};
    return {autotune::Status::wrong_result, difference};
  }

  // The first one makes the default's results too.
  double check_seconds() const override {
    return trial_.results_seconds() * (expected_.empty() ? 2 : 1);
  }

  // A sample is no longer than the time that is left.
  double seconds(const Point& point) override {
    double left = std::max(0.0, until_ - autotune::steady_seconds());
    return trial_.seconds(candidate(point), std::min(settings_.sample_seconds, left));
  }

  Device device() const override { return device_; }

 private:
  const RegionCandidate& candidate(const Point& point) {
    auto [at, is_new] = compiled_.try_emplace(point);
    if (is_new) at->second = trial_.compile(space_.blocks_of(point));
    return at->second;
  }

  const TuneSettings& settings_;
  const RegionSpace& space_;
  const Device& device_;
  double until_;
  RegionTrial trial_;
  std::map<Point, RegionCandidate> compiled_;
  const RegionCandidate& preferred_;
  std::vector<std::vector<std::byte>> expected_;  // what it computes
};

}  // namespace

RegionTuning tune_region(const TaskList& list, const Region& region, const Device& device,
                         const TuneSettings& settings, std::vector<Point> seeds,
                         const autotune::TuningListener& progress, autotune::History known) {
  double until = autotune::steady_seconds() + settings.budget.seconds;
  RegionTuning tuning;
  tuning.space = region_space(list, region, device.target());
  tuning.chosen = tuning.space.preferred;
  if (tuning.space.space.knobs().empty()) return tuning;
  RegionEstimate estimate(list, region, device.target());
  autotune::Problem problem{&tuning.space.space, tuning.space.preferred};
  problem.estimate = [&](const Point& point) {
    return estimate.seconds(tuning.space.blocks_of(point));
  };
  problem.features = [&](const Point& point) {
    return estimate.features(tuning.space.blocks_of(point));
  };
  problem.seeds = std::move(seeds);
  problem.seeds.push_back(autotune::untried_choice(problem));
  std::optional<RegionRunner> runner;
  try {
    runner.emplace(list, region, device, settings, tuning.space, until);
  } catch (const TimeIsUp&) {
    tuning.ended = autotune::Ended::seconds;
    return tuning;
  }
  if (!runner->is_worthwhile()) return tuning;
  autotune::Budget left = settings.budget;
  left.seconds = std::max(0.0, until - autotune::steady_seconds());
  static_cast<autotune::Tuning&>(tuning) =
      autotune::tune(problem, *runner, {settings.strategy, left, settings.seed, settings.rounds},
                     std::move(known), progress);
  return tuning;
}

}  // namespace tilewright::graph
