// One tuning: the protocol by which configurations of any kind are checked, timed and chosen.
//
// A search (search/) proposes batches. A point that fails its check (it cannot be compiled, ends
// badly, or computes something else than the default) is noted with its reason and never timed. The
// others are timed in rounds in which the default takes part (measure/interleaved.h), and noted as
// if its time in the first round held for all; so batches measured at different moments can be
// compared. At last the fastest few are timed once more beside the default, which stays unless it
// is beaten twice (measure/decision.h).
//
// All of it takes the budget's seconds and no more, except for an unfinished compilation, check or
// run. So if everything is slow, only the default may be timed, once.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autotune/choice.h"
#include "autotune/measure/decision.h"
#include "autotune/measure/failure.h"
#include "autotune/search/search.h"
#include "dsl/launch/device.h"

namespace tilewright::autotune {

// Runs the points of a space.
class Runner {
 public:
  virtual ~Runner() = default;
  // Called before any point of a batch is checked, so that they can be compiled in parallel; but
  // for the first of each thread none is started after `until` (of the options' clock). Returns how
  // many, from the first on, are ready. Resources that only an earlier batch needed may be
  // released; the default is needed to the end.
  virtual std::size_t prepare(std::span<const Point> batch, double /*until*/) {
    return batch.size();
  }
  // Runs the point once and checks its results, if it may run here. The default is checked before
  // all others; for it an `Error` ends the tuning. For another point an `Error` is that point's
  // failure.
  virtual Failure check(const Point& point) = 0;
  // The expected time of the next check of a point that was not checked yet, beside compiling it.
  virtual double check_seconds() const { return 0; }
  // Seconds a run of a point that passed its check.
  virtual double seconds(const Point& point) = 0;
  virtual Device device() const = 0;  // whose clocks are noted
  // Called after each series of timed runs, so that it can undo their changes.
  virtual void end_series() {}
};

struct TuningOptions {
  std::string strategy = "model_guided";
  Budget budget = {};
  std::uint64_t seed = 1;
  int rounds = 5;  // while searching, of a proposal of whole effort
  Clock clock = steady_seconds;
};

struct Tuning {
  std::vector<Finding> measured;  // in the order in which they were measured first
  double preferred_seconds = 0;   // of the first rounds
  Point chosen;                   // the default where none is better
  double chosen_seconds = 0;      // as if the default took its first time
  Verdict verdict;
  Ended ended = Ended::space;
};

// Told of each proposal when its batch was measured.
using TuningListener = std::function<void(const Tuning& so_far, const Finding& latest)>;

// Measures what `known` lacks, as far as the budget goes, whose seconds begin now.
Tuning tune(const Problem& problem, Runner& runner, const TuningOptions& options,
            History known = {}, const TuningListener& listener = {});

}  // namespace tilewright::autotune
