// Decides whether a challenger may replace the default.
//
// Times of one round belong together, so the decision compares their ratio, round by round. The
// challenger wins if the median of the ratios is below 1 by more than a margin: 2%, or twice the
// spread of that median (its interquartile range) where the machine is noisy. Picking the fastest
// of many also picks the luckiest: so the winner is measured against the default once more, in
// rounds that had no part in the choice, and must win again. A default is therefore kept unless it
// is beaten twice, and a difference of one per cent changes nothing.
#pragma once

#include "autotune/measure/interleaved.h"

namespace tilewright::autotune {

struct Comparison {
  double ratio = 1;   // challenger's time by the default's, median over the rounds both ran in
  double margin = 0;  // by which the ratio must be below 1
  bool is_faster() const { return ratio < 1 - margin; }
};
// The margin for this spread of the ratio, or of the times relative to their median.
double margin_of(double spread);
// Neither failed.
Comparison compare(const Timing& challenger, const Timing& preferred);

struct Verdict {
  std::size_t chosen = 0;   // 0: the default is kept
  Comparison first, again;  // of the best challenger; `again` if it won the first time
  bool was_confirmed = false;
  std::vector<Timing> timings;   // of each program, the first time
  std::size_t challenger = 0;    // that won the first time; 0: none
  std::vector<Timing> repeated;  // of the default and the challenger
};

struct DecisionRounds {
  int first = 15, again = 25;
  // A moment of `clock` after which nothing is run any more, but for one sample of two programs. A
  // challenger of fewer than `least` samples, in either series, does not win.
  double until = std::numeric_limits<double>::infinity();
  std::size_t least = 3;
  Clock clock = steady_seconds;
};

// Program 0 is the default, which must run; the others are those a search found fastest, best
// first, a few. Where the default fails the fastest that does not is chosen.
Verdict decide(std::size_t programs, const RunOnce& run, const DecisionRounds& rounds,
               Random& random);

}  // namespace tilewright::autotune
