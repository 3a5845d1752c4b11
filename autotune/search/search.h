// Drives a strategy until its budget is spent: proposes in batches, has them measured, remembers.
// The preferred configuration is measured first, then the seeds; nothing is measured twice at the
// same effort. measure/decision.h, not this file, decides which one may replace the preferred one:
// it compares the finalists once more.
#pragma once

#include <limits>

#include "autotune/measure/interleaved.h"
#include "autotune/search/strategy.h"

namespace tilewright::autotune {

struct Budget {
  double trials = 64;  // whole measurements; cheaper ones count by their effort
  double seconds = std::numeric_limits<double>::infinity();
  int batch = 8;  // proposed at once; compiled side by side
};

enum class Ended { trials, seconds, space };  // the part of the budget that was used up
std::string_view name_of(Ended ended);

struct SearchOutcome {
  History history;
  Point best;      // the preferred one where all failed
  double seconds;  // its time; infinite where all failed
  Ended ended;
};

// Seconds of each proposal in their order, infinity for those that failed; only of the first ones
// if time ran out, which ends the search. Called again and again.
using MeasureBatch = std::function<std::vector<double>(const std::vector<Proposal>&)>;

// Raises where the preferred point is not of the space. `known` are measurements of earlier
// searches: they are learned from and not repeated, at no cost.
SearchOutcome search(const Problem& problem, Strategy& strategy, const MeasureBatch& measure,
                     const Budget& budget, History known = {}, const Clock& clock = steady_seconds);

}  // namespace tilewright::autotune
