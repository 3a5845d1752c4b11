#include "autotune/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autotune/database/row/statistics.h"
#include "autotune/measure/clocks.h"
#include "autotune/search/strategies.h"
#include "autotune/space/random.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t finalists = 3;
constexpr double most_of_decision = 1.0 / 3;  // of the budget

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
        until_(options.clock() + options.budget.seconds),
        failure_of_preferred_(runner.check(preferred)) {
    tuning_.chosen = preferred;
  }

  // Checks each proposal and times those that passed, together with the default; if time runs out,
  // only the first ones.
  std::vector<double> measure(const std::vector<Proposal>& batch) {
    std::vector<Point> points = {preferred_}, others;
    for (const Proposal& proposal : batch)
      if (proposal.point != preferred_) others.push_back(proposal.point);
    time_preferred();
    double until = end_of_search();
    bool wants_others = !others.empty();
    others.resize(has_time_for(1) ? runner_.prepare(others, until) : 0);
    if (wants_others && others.empty() && is_timed(preferred_)) return {};
    note_check(preferred_, failure_of_preferred_);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (i > 0 && !has_time_for(points.size()))
        others.resize(i);
      else if (passes(others[i]))
        points.push_back(others[i]);
    }
    double effort = batch.empty() ? 1 : batch[0].effort;
    Rounds rounds{std::max(1, static_cast<int>(std::lround(options_.rounds * effort)))};
    rounds.until = until;
    rounds.clock = options_.clock;
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
    forget_untimed(points, timings, others);
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
  void decide(const History& history) {
    std::vector<Point> points = {preferred_};
    for (const Trial* trial : history.ranked()) {
      if (points.size() > finalists || !std::isfinite(trial->seconds)) break;
      if (options_.clock() >= until_) break;
      if (trial->point == preferred_) continue;
      // Points that another process has measured have not run here yet.
      if (is_noted(trial->point) || passes(trial->point)) points.push_back(trial->point);
    }
    if (options_.clock() >= until_) return choose_by_search(history);
    Verdict& verdict = tuning_.verdict;
    ClockWatch clocks(runner_.device());
    DecisionRounds rounds;
    rounds.until = until_;
    rounds.clock = options_.clock;
    verdict = autotune::decide(points.size(), timing_of(points, clocks), rounds, random_);
    runner_.end_series();
    for (std::size_t i = 0; i < points.size(); ++i)
      note_times(points[i], verdict.timings[i], verdict.timings[0], clocks.text());
    if (verdict.challenger != 0)
      note_times(points[verdict.challenger], verdict.repeated[1], verdict.repeated[0],
                 clocks.text());
    choose(points[verdict.chosen]);
  }

 private:
  // Once, to know what a run takes.
  void time_preferred() {
    if (failure_of_preferred_ || first_sample_ > 0) return;
    double begin = options_.clock();
    first_sample_ = runner_.seconds(preferred_);
    run_seconds_ = options_.clock() - begin;
    runner_.end_series();  // checks come next
  }

  // The time left for the decision is what it takes if all finalists are as fast as the default.
  double end_of_search() const {
    DecisionRounds rounds;
    double runs = rounds.first * (1.0 + finalists) + rounds.again * 2;
    return until_ - std::min(runs * run_seconds_, most_of_decision * options_.budget.seconds);
  }

  // True if there is time to check one more configuration, and then to time so many of them in two
  // rounds beside the default, if all take what it takes. Asked before anything is compiled for it.
  bool has_time_for(std::size_t others) const {
    double wanted = runner_.check_seconds() + 2 * static_cast<double>(others + 1) * run_seconds_;
    return options_.clock() + wanted < end_of_search();
  }

  // Without rounds of a decision the default stays, unless it cannot run.
  void choose_by_search(const History& history) {
    const Trial* best = history.best();
    bool has_other = failure_of_preferred_ && best != nullptr && std::isfinite(best->seconds);
    choose(has_other ? best->point : preferred_);
  }

  void choose(const Point& point) {
    tuning_.chosen = point;
    const Finding& chosen = noted(point);
    tuning_.chosen_seconds = chosen.samples.empty() ? infinity : median(chosen.samples);
  }

  // Points that passed their check, and then had no time left, count as not measured.
  void forget_untimed(const std::vector<Point>& points, const std::vector<Timing>& timings,
                      std::vector<Point>& others) {
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (!timings[i].samples.empty()) continue;
      others.erase(std::ranges::find(others, points[i]), others.end());
      std::erase_if(tuning_.measured, [&](const Finding& one) { return one.point == points[i]; });
    }
  }

  // The clocks are looked at once a round, when the default, which is point 0, takes its turn.
  RunOnce timing_of(const std::vector<Point>& points, ClockWatch& clocks) {
    return [this, &points, &clocks](std::size_t i) {
      if (i != 0) return runner_.seconds(points[i]);
      clocks.look();
      if (failure_of_preferred_) return infinity;
      // Where there was no time for more, the run that told so is the sample.
      return options_.clock() < until_ ? runner_.seconds(preferred_) : first_sample_;
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

  bool is_timed(const Point& point) const {
    auto at = std::ranges::find(tuning_.measured, point, &Finding::point);
    return at != tuning_.measured.end() && !at->samples.empty();
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
  double until_;  // by the options' clock
  Failure failure_of_preferred_;
  double first_sample_ = 0;  // of the default
  double run_seconds_ = 0;   // that taking it took
};

}  // namespace

Tuning tune(const Problem& problem, Runner& runner, const TuningOptions& options, History known,
            const TuningListener& listener) {
  Tuning tuning;
  if (const Trial* trial = known.find(problem.preferred)) tuning.preferred_seconds = trial->seconds;
  Measurements measurements(problem.preferred, runner, options, listener, tuning);
  auto strategy = make_strategy(options.strategy, problem, options.seed);
  SearchOutcome outcome = search(
      problem, *strategy, [&](const auto& batch) { return measurements.measure(batch); },
      options.budget, std::move(known), options.clock);
  tuning.ended = outcome.ended;
  if (!tuning.measured.empty()) measurements.decide(outcome.history);
  return tuning;
}

}  // namespace tilewright::autotune
