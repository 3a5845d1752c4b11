#include "autotune/measure/decision.h"

#include <algorithm>
#include <cmath>

#include "autotune/database/row/statistics.h"

namespace tilewright::autotune {
namespace {

constexpr double least_margin = 0.02, margin_in_spreads = 2;

}  // namespace

double margin_of(double spread) { return std::max(least_margin, margin_in_spreads * spread); }

Comparison compare(const Timing& challenger, const Timing& preferred) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(challenger.samples.size(), preferred.samples.size()); ++i)
    ratios.push_back(challenger.samples[i] / preferred.samples[i]);
  return {median(ratios), margin_of(spread_of_median(ratios))};
}

Verdict decide(std::size_t programs, const RunOnce& run, const DecisionRounds& rounds,
               Random& random) {
  Verdict verdict;
  Rounds first{rounds.first};
  first.clock = rounds.clock;
  // The other half is for the second series. Without an end there is nothing to halve.
  if (double now = rounds.clock(); std::isfinite(rounds.until))
    first.until = now + (rounds.until - now) / 2;
  std::vector<Timing>& timings = verdict.timings;
  timings = time_interleaved(programs, run, first, random);
  if (timings[0].failed()) {
    auto best = std::ranges::min_element(timings, {}, &Timing::seconds);
    verdict.chosen = static_cast<std::size_t>(best - timings.begin());
    return verdict;
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < programs; ++i) {
    if (timings[i].failed() || timings[i].was_dropped) continue;
    if (timings[i].samples.size() < rounds.least) continue;
    Comparison comparison = compare(timings[i], timings[0]);
    if (best == 0 || comparison.ratio < verdict.first.ratio) {
      verdict.first = comparison;
      best = i;
    }
  }
  if (best == 0 || !verdict.first.is_faster()) return verdict;
  std::size_t pair[] = {0, best};
  Rounds again{rounds.again};
  again.always = 2;
  again.until = rounds.until;
  again.clock = rounds.clock;
  verdict.challenger = best;
  std::vector<Timing>& repeated = verdict.repeated;
  repeated = time_interleaved(
      2, [&](std::size_t i) { return run(pair[i]); }, again, random);
  if (repeated[0].failed() || repeated[1].failed()) return verdict;
  if (std::min(repeated[0].samples.size(), repeated[1].samples.size()) < rounds.least)
    return verdict;
  verdict.again = compare(repeated[1], repeated[0]);
  verdict.was_confirmed = verdict.again.is_faster();
  if (verdict.was_confirmed) verdict.chosen = best;
  return verdict;
}

}  // namespace tilewright::autotune
