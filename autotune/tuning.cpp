#include "autotune/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autotune/database/row/statistics.h"
#include "autotune/measure/clocks.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t finalists = 3;
constexpr double least_decision_seconds = 0.5;

class Measurements {
 public:
  Measurements(const Point& preferred, Runner& runner, const TuningOptions& options,
               const TuningListener& listener, Tuning& tuning)
      : preferred_(preferred),
        runner_(runner),
        options_(options),
        listener_(listener),
        tuning_(tuning),
        random_(options.seed),
        failure_of_preferred_(runner.check(preferred)) {
    tuning_.chosen = preferred;
  }

  // Checks each proposal and times those that passed, together with the default; if time runs out,
  // only the first ones.
  std::vector<double> measure(const std::vector<Proposal>& batch, double until) {
    std::vector<Point> points = {preferred_}, others;
    for (const Proposal& proposal : batch)
      if (proposal.point != preferred_) others.push_back(proposal.point);
    others.resize(has_time(until) ? runner_.prepare(others, until) : 0);
    note_check(preferred_, failure_of_preferred_);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (i > 0 && steady_seconds() >= until)
        others.resize(i);
      else if (passes(others[i]))
        points.push_back(others[i]);
    }
    double effort = batch.empty() ? 1 : batch[0].effort;
    Rounds rounds{std::max(1, static_cast<int>(std::lround(options_.rounds * effort)))};
    rounds.until = until;
    ClockWatch clocks(runner_.device());
    std::vector<Timing> timings =
        time_interleaved(points.size(), timing_of(points, clocks), rounds, random_);
    runner_.end_series();
    if (tuning_.preferred_seconds == 0) tuning_.preferred_seconds = timings[0].seconds();
    for (std::size_t i = 0; i < points.size(); ++i) {
      Finding& finding = noted(points[i]);
      if (i == 0 && !finding.samples.empty()) continue;  // the default's of the first batch stay
      note_times(points[i], timings[i], timings[0], clocks.text());
      if (!timings[i].failed()) finding.least = *std::ranges::min_element(timings[i].samples);
    }
    std::vector<double> result;
    for (const Proposal& proposal : batch) {
      bool is_measured =
          proposal.point == preferred_ || std::ranges::find(others, proposal.point) != others.end();
      if (!is_measured) break;
      const Finding& finding = noted(proposal.point);
      result.push_back(finding.least);
      if (listener_) listener_(tuning_, finding);
    }
    return result;
  }

  // The fastest few once more, in fewer rounds than are usual where these would take so long.
  void decide(const History& history, double seconds) {
    std::vector<Point> points = {preferred_};
    for (const Trial* trial : history.ranked()) {
      if (points.size() > finalists || !std::isfinite(trial->seconds)) break;
      if (trial->point == preferred_) continue;
      // What another process has measured has not run here yet.
      if (is_noted(trial->point) || passes(trial->point)) points.push_back(trial->point);
    }
    Verdict& verdict = tuning_.verdict;
    ClockWatch clocks(runner_.device());
    DecisionRounds rounds;
    if (points.size() == 1) rounds.least = 1;
    rounds.until = steady_seconds() + std::max(seconds, least_decision_seconds);
    verdict = autotune::decide(points.size(), timing_of(points, clocks), rounds, random_);
    runner_.end_series();
    for (std::size_t i = 0; i < points.size(); ++i)
      note_times(points[i], verdict.timings[i], verdict.timings[0], clocks.text());
    if (verdict.challenger != 0)
      note_times(points[verdict.challenger], verdict.repeated[1], verdict.repeated[0],
                 clocks.text());
    tuning_.chosen = points[verdict.chosen];
    const Finding& chosen = noted(tuning_.chosen);
    tuning_.chosen_seconds = chosen.samples.empty() ? infinity : median(chosen.samples);
  }

 private:
  // Whether there is time to time another configuration beside the default, judged by what one run
  // of the default takes. Asked before anything is compiled for that.
  bool has_time(double until) {
    constexpr double rounds_of_two = 4;
    if (failure_of_preferred_) return true;
    if (run_seconds_ == 0) {
      double begin = steady_seconds();
      runner_.seconds(preferred_);
      run_seconds_ = steady_seconds() - begin;
    }
    return steady_seconds() + rounds_of_two * run_seconds_ < until;
  }

  // The clocks are looked at once a round, when the default, which is point 0, takes its turn.
  RunOnce timing_of(const std::vector<Point>& points, ClockWatch& clocks) {
    return [this, &points, &clocks](std::size_t i) {
      if (i != 0) return runner_.seconds(points[i]);
      clocks.look();
      return failure_of_preferred_ ? infinity : runner_.seconds(preferred_);
    };
  }

  bool passes(const Point& point) {
    Failure failure;
    try {
      failure = runner_.check(point);
    } catch (const Error& error) {
      failure = failure_of(error);
    }
    note_check(point, failure);
    return !failure;
  }

  void note_check(const Point& point, const Failure& failure) {
    Finding& finding = noted(point);
    finding.status = failure.status;
    finding.reason = failure.reason;
  }

  void note_times(const Point& point, const Timing& timing, const Timing& preferred,
                  const std::string& clocks) {
    if (timing.failed()) return;
    Finding& finding = noted(point);
    finding.samples = beside(timing, preferred, tuning_.preferred_seconds);
    finding.clocks = clocks;
  }

  bool is_noted(const Point& point) const {
    return std::ranges::find(tuning_.measured, point, &Finding::point) != tuning_.measured.end();
  }

  Finding& noted(const Point& point) {
    auto at = std::ranges::find(tuning_.measured, point, &Finding::point);
    if (at != tuning_.measured.end()) return *at;
    tuning_.measured.push_back({point});
    return tuning_.measured.back();
  }

  Point preferred_;
  Runner& runner_;
  const TuningOptions& options_;
  const TuningListener& listener_;
  Tuning& tuning_;
  Random random_;
  Failure failure_of_preferred_;
  double run_seconds_ = 0;  // that one call of the runner's clock takes with the default
};

}  // namespace

Tuning tune(const Problem& problem, Runner& runner, const TuningOptions& options, History known,
            const TuningListener& listener) {
  Tuning tuning;
  if (const Trial* trial = known.find(problem.preferred)) tuning.preferred_seconds = trial->seconds;
  Measurements measurements(problem.preferred, runner, options, listener, tuning);
  auto strategy = make_strategy(options.strategy, problem, options.seed);
  double until = steady_seconds() + options.budget.seconds;
  SearchOutcome outcome = search(
      problem, *strategy, [&](const auto& batch) { return measurements.measure(batch, until); },
      options.budget, std::move(known));
  tuning.ended = outcome.ended;
  if (!tuning.measured.empty()) measurements.decide(outcome.history, options.budget.seconds);
  return tuning;
}

}  // namespace tilewright::autotune
