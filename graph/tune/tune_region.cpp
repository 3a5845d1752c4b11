#include "graph/tune/tune_region.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "autotune/measure/statistics.h"
#include "graph/tune/region_estimate.h"

namespace tilewright::graph {
namespace {

using autotune::Point;
using autotune::Proposal;

constexpr std::size_t finalists = 3;
constexpr double infinity = std::numeric_limits<double>::infinity();

class RegionSearch {
 public:
  RegionSearch(const Graph& graph, const TaskList& list, const Region& region, const Device& device,
               const TuneSettings& settings, const TuneProgress& progress, RegionTuning& tuning)
      : settings_(settings),
        progress_(progress),
        tuning_(tuning),
        trial_(graph, list, region, device),
        random_(settings.seed) {
    preferred_ = candidate(tuning.space.preferred);
    if (preferred_->failure.empty()) expected_ = trial_.results(*preferred_);
  }

  std::vector<double> measure(const std::vector<Proposal>& batch) {
    std::erase_if(compiled_, [&](const auto& known) { return &known.second != preferred_; });
    compile(batch);
    std::vector<const RegionCandidate*> programs = {preferred_};
    for (const Proposal& proposal : batch) programs.push_back(candidate(proposal.point));
    double effort = batch.empty() ? 1 : batch[0].effort;
    autotune::Rounds rounds{std::max(1, static_cast<int>(std::lround(settings_.rounds * effort)))};
    std::vector<autotune::Timing> timings = autotune::time_interleaved(
        programs.size(), [&](std::size_t i) { return run(*programs[i]); }, rounds, random_);
    if (tuning_.preferred_seconds == 0) tuning_.preferred_seconds = timings[0].seconds();
    std::vector<double> result;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const autotune::Timing& timing = timings[i + 1];
      autotune::Finding& note = noted(batch[i].point);
      note.reason = programs[i + 1]->failure;
      if (timing.failed())
        note.status = is_wrong_.contains(batch[i].point) ? autotune::Status::wrong_result
                                                         : autotune::Status::compile_failed;
      if (!timing.failed()) {
        note.samples = autotune::beside(timing, timings[0], tuning_.preferred_seconds);
        note.least = *std::ranges::min_element(timing.samples);
      }
      result.push_back(note.least);
      if (progress_) progress_(tuning_);
    }
    return result;
  }

  // Whether there is anything to win; answers in little time.
  bool is_worthwhile() {
    return settings_.least_seconds == 0 || !preferred_->failure.empty() ||
           trial_.seconds(*preferred_, settings_.least_seconds) >= settings_.least_seconds;
  }

  // The fastest few once more, those that compute what the default does.
  void decide(const autotune::History& history) {
    std::vector<Point> points = {tuning_.space.preferred};
    for (const autotune::Trial* trial : history.ranked()) {
      if (points.size() > finalists) break;
      if (!std::isfinite(trial->seconds) || trial->point == points[0]) continue;
      points.push_back(trial->point);
    }
    auto time = [&](std::size_t i) { return run(*candidate(points[i])); };
    tuning_.verdict = autotune::decide(points.size(), time, {}, random_);
    tuning_.chosen = points[tuning_.verdict.chosen];
    note_rounds(points);
    tuning_.chosen_seconds = autotune::median(noted(tuning_.chosen).samples);
  }

 private:
  // Two at a time: compiling takes longer than timing.
  void compile(const std::vector<Proposal>& batch) {
    std::vector<const Point*> missing;
    for (const Proposal& proposal : batch)
      if (!compiled_.contains(proposal.point)) missing.push_back(&proposal.point);
    std::vector<RegionCandidate> results(missing.size());
    std::atomic<std::size_t> next = 0;
    auto work = [&] {
      for (std::size_t i; (i = next++) < missing.size();)
        results[i] = trial_.compile(tuning_.space.blocks_of(*missing[i]));
    };
    {
      std::jthread second(work);
      work();
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      check(*missing[i], results[i]);
      compiled_.emplace(*missing[i], std::move(results[i]));
    }
  }

  // What computes something else than the default is not even timed.
  void check(const Point& point, RegionCandidate& candidate) {
    if (!candidate.failure.empty() || !preferred_->failure.empty()) return;
    candidate.failure = trial_.difference(expected_, trial_.results(candidate));
    if (!candidate.failure.empty()) is_wrong_.insert(point);
  }

  const RegionCandidate* candidate(const Point& point) {
    auto [at, is_new] = compiled_.try_emplace(point);
    if (is_new) at->second = trial_.compile(tuning_.space.blocks_of(point));
    return &at->second;
  }

  double run(const RegionCandidate& program) {
    return program.failure.empty() ? trial_.seconds(program, settings_.sample_seconds) : infinity;
  }

  // Of finalists the samples of the last rounds are kept, as if the default took its first time in
  // all of them.
  void note_rounds(const std::vector<Point>& points) {
    const autotune::Verdict& verdict = tuning_.verdict;
    auto note = [&](std::size_t i, const autotune::Timing& timing,
                    const autotune::Timing& preferred) {
      if (!timing.failed())
        noted(points[i]).samples = autotune::beside(timing, preferred, tuning_.preferred_seconds);
    };
    for (std::size_t i = 0; i < points.size(); ++i) note(i, verdict.timings[i], verdict.timings[0]);
    if (verdict.challenger != 0) note(verdict.challenger, verdict.repeated[1], verdict.repeated[0]);
  }

  autotune::Finding& noted(const Point& point) {
    auto at = std::ranges::find(tuning_.measured, point, &autotune::Finding::point);
    if (at != tuning_.measured.end()) return *at;
    tuning_.measured.push_back({point, {}, {}});
    return tuning_.measured.back();
  }

  const TuneSettings& settings_;
  const TuneProgress& progress_;
  RegionTuning& tuning_;
  RegionTrial trial_;
  autotune::Random random_;
  std::map<Point, RegionCandidate> compiled_;
  const RegionCandidate* preferred_ = nullptr;
  std::vector<std::vector<std::byte>> expected_;  // what it computes
  std::set<Point> is_wrong_;
};

}  // namespace

RegionTuning tune_region(const Graph& graph, const TaskList& list, const Region& region,
                         const Device& device, const TuneSettings& settings,
                         std::vector<Point> seeds, const TuneProgress& progress) {
  RegionTuning tuning;
  tuning.space = region_space(graph, list, region, device.target());
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
  RegionSearch measured(graph, list, region, device, settings, progress, tuning);
  if (!measured.is_worthwhile()) return tuning;
  auto strategy = autotune::make_strategy(settings.strategy, problem, settings.seed);
  autotune::SearchOutcome outcome = autotune::search(
      problem, *strategy, [&](const auto& batch) { return measured.measure(batch); },
      settings.budget);
  tuning.ended = outcome.ended;
  measured.decide(outcome.history);
  return tuning;
}

}  // namespace tilewright::graph
