#include "autotune/search/search.h"

#include <algorithm>

#include "autotune/search/strategies.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

std::vector<Proposal> first_batch(const Problem& problem, const History& known) {
  std::vector<Proposal> result;
  auto offer = [&](const Point& point) {
    if (problem.space->is_legal(point) && !known.knows(point) && !is_taken(result, point))
      result.push_back({point});
  };
  offer(problem.preferred);
  for (const Point& seed : problem.seeds) offer(seed);
  return result;
}

}  // namespace

std::string_view name_of(Ended ended) {
  switch (ended) {
    case Ended::trials: return "trials";
    case Ended::seconds: return "seconds";
    case Ended::space: return "space";
  }
  return "";
}

SearchOutcome search(const Problem& problem, Strategy& strategy, const MeasureBatch& measure,
                     const Budget& budget, History known, const Clock& clock) {
  require(problem.space->is_legal(problem.preferred),
          "[autotune] the default configuration is not a legal point of its space");
  double begin = clock(), spent_before = known.effort();
  SearchOutcome outcome{std::move(known), problem.preferred,
                        std::numeric_limits<double>::infinity(), Ended::space};
  History& history = outcome.history;
  std::vector<Proposal> batch = first_batch(problem, history);
  bool is_out_of_time = false;
  while (true) {
    double left = budget.trials - (history.effort() - spent_before);
    std::erase_if(batch, [&](const Proposal& proposal) { return (left -= proposal.effort) < 0; });
    for (std::size_t at = 0; at < batch.size();) {
      // No more at once than a batch, so that the time is looked at in between.
      std::size_t end = std::min(batch.size(), at + static_cast<std::size_t>(budget.batch));
      std::vector<Proposal> part(batch.begin() + static_cast<std::ptrdiff_t>(at),
                                 batch.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<double> seconds = measure(part);
      check(seconds.size() <= part.size(), "a measurement a proposal");
      for (std::size_t i = 0; i < seconds.size(); ++i)
        history.add({part[i].point, seconds[i], part[i].effort});
      at = end;
      is_out_of_time = seconds.size() < part.size() || clock() - begin >= budget.seconds;
      if (is_out_of_time) break;
    }
    if (is_out_of_time || clock() - begin >= budget.seconds) {
      outcome.ended = Ended::seconds;
      break;
    }
    double remaining = budget.trials - (history.effort() - spent_before);
    if (remaining < 1e-9) {
      outcome.ended = Ended::trials;
      break;
    }
    batch = strategy.propose(history, budget.batch);
    if (batch.empty()) break;
    if (std::ranges::none_of(batch, [&](const Proposal& p) { return p.effort <= remaining; })) {
      outcome.ended = Ended::trials;
      break;
    }
  }
  if (const Trial* best = history.best()) {
    outcome.best = best->point;
    outcome.seconds = best->seconds;
  }
  return outcome;
}

}  // namespace tilewright::autotune
