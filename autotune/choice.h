// From stored measurements to a choice, by one rule in every process.
//
// For each configuration the database stores its times and those of the default, taken in the same
// rounds; the choice follows from them. So a choice needs no row of its own, and cannot contradict
// its measurements.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "autotune/database/row/tuning_row.h"
#include "autotune/measure/decision.h"
#include "autotune/search/strategy.h"

namespace tilewright::autotune {

Configuration configuration_of(const Space& space, const Point& point);
// Nothing if the space has no such legal point.
std::optional<Point> point_of(const Space& space, const Configuration& configuration);

// The fastest configuration that a decision (measure/decision.h) timed twice, the second time in at
// least this many rounds, if it is faster than the preferred point by more than the decision's
// margin; else the preferred point, even if nothing is known about it.
Point choice_of(const Space& space, const Point& preferred, const std::vector<TuningRow>& rows,
                int rounds_again = DecisionRounds().again);

// The findings of one search about one configuration.
struct Finding {
  Point point;
  std::vector<double> samples = {};  // seconds a run; empty if it failed
  // The least of the raw samples, since disturbances only make them larger. Searches are guided by
  // it.
  double least = std::numeric_limits<double>::infinity();
  Status status = Status::ok;
  std::string reason = {};  // why it is not ok
  std::string clocks = {};  // under which the samples were taken (measure/clocks.h)
};
// The rows that the database keeps of them, dated now and a millisecond apart, so that their order,
// which is that of the trials, is kept too.
std::vector<TuningRow> rows_of(const TuningKey& key, const Space& space, const Point& preferred,
                               const std::vector<Finding>& findings);

}  // namespace tilewright::autotune
