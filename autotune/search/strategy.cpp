#include "autotune/search/strategy.h"

#include <algorithm>
#include <limits>

namespace tilewright::autotune {
namespace {

constexpr std::int64_t most_estimated = 100'000;

}  // namespace

bool History::knows(const Point& point) const { return best_.contains(point); }

void History::add(Trial trial) {
  effort_ += trial.effort;
  auto [at, is_new] = best_.try_emplace(trial.point, trials_.size());
  if (!is_new && trial.effort >= trials_[at->second].effort) at->second = trials_.size();
  trials_.push_back(std::move(trial));
}

const Trial* History::find(const Point& point) const {
  auto at = best_.find(point);
  return at == best_.end() ? nullptr : &trials_[at->second];
}

const Trial* History::best() const {
  const Trial* best = nullptr;
  for (const auto& [point, index] : best_) {
    const Trial& trial = trials_[index];
    if (trial.seconds == std::numeric_limits<double>::infinity()) continue;
    if (!best || trial.effort > best->effort ||
        (trial.effort == best->effort && trial.seconds < best->seconds))
      best = &trial;
  }
  return best;
}

std::vector<const Trial*> History::ranked() const {
  std::vector<const Trial*> result;
  for (const auto& [point, index] : best_) result.push_back(&trials_[index]);
  std::ranges::stable_sort(result, {}, &Trial::seconds);
  return result;
}

Point untried_choice(const Problem& problem) {
  if (!problem.estimate) return problem.preferred;
  Point best = problem.preferred;
  double least = problem.estimate(best);
  for (const Point& point : problem.space->legal_points(most_estimated)) {
    double seconds = problem.estimate(point);
    if (seconds < least) {
      least = seconds;
      best = point;
    }
  }
  return best;
}

}  // namespace tilewright::autotune
