#include "autotune/search/strategy.h"

#include <algorithm>

#include "autotune/search/strategies.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr std::int64_t most_estimated = 100'000;

struct NamedStrategy {
  const char* name;
  std::unique_ptr<Strategy> (*make)(const Problem&, std::uint64_t seed);
};
const NamedStrategy strategies[] = {{"model_guided", make_model_guided},
                                    {"exhaustive", make_exhaustive},
                                    {"random", make_random},
                                    {"evolutionary", make_evolutionary},
                                    {"successive_halving", make_successive_halving}};

}  // namespace

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

std::unique_ptr<Strategy> make_strategy(std::string_view name, const Problem& problem,
                                        std::uint64_t seed) {
  for (const NamedStrategy& known : strategies)
    if (known.name == name) return known.make(problem, seed);
  std::string names;
  for (const std::string& known : strategy_names()) names += (names.empty() ? "" : ", ") + known;
  raise_error(concat("[autotune] there is no strategy named \"", name, "\"; there are: ", names));
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> result;
  for (const NamedStrategy& known : strategies) result.push_back(known.name);
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
