#include "graph/saving/choose_saved.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// Problems of at most so many values are solved exactly.
constexpr std::size_t small = 24;
constexpr int many_cuts = 100'000, few_cuts = 40;

std::int64_t cost_of_all(const SavingProblem& problem) {
  return std::accumulate(
      problem.begin(), problem.end(), std::int64_t{0},
      [](std::int64_t sum, const SavingCandidate& value) { return sum + value.cost; });
}

SavingChoice cut_of(const SavingProblem& problem, const SavingPrices& prices) {
  std::optional<SavingChoice> choice = least_cut(problem, prices);
  check(choice.has_value(), "a value can neither be kept nor computed again");
  return *std::move(choice);
}

// The best choice within the limit that keeps less of the first values than of the others, or
// `best`.
SavingChoice divided(const SavingProblem& problem, std::int64_t limit, SavingPrices prices,
                     SavingChoice best) {
  std::size_t none = 0, enough = problem.size();
  while (none < enough) {
    const std::size_t middle = (none + enough) / 2;
    prices.dearer = middle;
    SavingChoice found = cut_of(problem, prices);
    const bool keeps_to_it = found.bytes <= limit;
    (keeps_to_it ? enough : none) = keeps_to_it ? middle : middle + 1;
    if (keeps_to_it && found.cost < best.cost) best = std::move(found);
  }
  return best;
}

// Decides value by value. A choice that keeps to the limit and meets the bound of its rules ends a
// branch, as does a bound that is no better than the best choice.
class Search {
 public:
  Search(const SavingProblem& problem, std::int64_t limit, const SavingPrices& prices,
         SavingChoice best)
      : problem_(problem),
        limit_(limit),
        prices_(prices),
        best_(std::move(best)),
        rules_(problem.size(), SavingRule::free),
        cuts_left_(problem.size() <= small ? many_cuts : few_cuts) {}

  CheapestSaving run() {
    const std::int64_t root = bound_of(cut_of(problem_, prices_));
    branch();
    // A search that was given up has not seen everything.
    const std::int64_t bound = cuts_left_ > 0 ? best_.cost : std::min(root, best_.cost);
    return {std::move(best_), bound};
  }

 private:
  // No choice within the limit costs less, given the one of least price. Rounded up.
  std::int64_t bound_of(const SavingChoice& least) const {
    const std::int64_t price = price_of(least, prices_) - limit_ * prices_.of_byte;
    return price <= 0 ? 0 : (price + prices_.of_operation - 1) / prices_.of_operation;
  }

  void branch() {
    if (cuts_left_ <= 0) return;
    --cuts_left_;
    const std::optional<SavingChoice> found = least_cut(problem_, prices_, rules_);
    if (!found) return;
    if (found->bytes <= limit_ && found->cost < best_.cost) best_ = *found;
    if (bound_of(*found) >= best_.cost) return;
    const std::optional<std::size_t> next = undecided(*found);
    if (!next) return;
    // First what the cut has not done, if it keeps too much.
    for (SavingRule rule : {SavingRule::not_saved, SavingRule::not_again}) {
      rules_[*next] = rule;
      branch();
    }
    rules_[*next] = SavingRule::free;
  }

  // The largest value that the choice keeps or computes again, of those without a rule.
  std::optional<std::size_t> undecided(const SavingChoice& choice) const {
    std::optional<std::size_t> largest;
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      const bool is_open = rules_[i] == SavingRule::free && problem_[i].may_be_saved &&
                           problem_[i].may_be_again && (choice.is_saved[i] || choice.is_again[i]);
      if (is_open && (!largest || problem_[i].bytes > problem_[*largest].bytes)) largest = i;
    }
    return largest;
  }

  const SavingProblem& problem_;
  const std::int64_t limit_;
  const SavingPrices prices_;
  SavingChoice best_;
  std::vector<SavingRule> rules_;
  int cuts_left_;
};

}  // namespace

SavingChoice all_saved(const SavingProblem& problem) {
  SavingChoice result;
  result.is_saved.resize(problem.size());
  result.is_again.resize(problem.size());
  std::vector<bool> is_needed(problem.size());
  for (std::size_t i = problem.size(); i-- > 0;) {
    const SavingCandidate& value = problem[i];
    if (!value.is_needed && !is_needed[i]) continue;
    if (value.may_be_saved) {
      result.is_saved[i] = true;
      result.bytes += value.bytes;
      continue;
    }
    result.is_again[i] = true;
    for (std::uint32_t operand : value.operands) is_needed[operand] = true;
  }
  return result;
}

SavingChoice least_saved(const SavingProblem& problem) {
  SavingChoice least = cut_of(problem, {1, 0});
  SavingChoice cheap = cut_of(problem, scaled(problem, {cost_of_all(problem) + 1, 1}));
  return cheap.bytes <= least.bytes ? cheap : least;
}

std::optional<CheapestSaving> cheapest_within(const SavingProblem& problem, std::int64_t limit) {
  SavingChoice most = all_saved(problem);
  if (most.bytes <= limit) return CheapestSaving{std::move(most), 0};
  SavingChoice least = least_saved(problem);
  if (least.bytes > limit) return std::nullopt;
  SavingPrices prices;
  while (true) {
    prices = scaled(problem, {least.cost - most.cost, most.bytes - least.bytes});
    SavingChoice between = cut_of(problem, prices);
    const bool is_better = price_of(between, prices) < price_of(least, prices) &&
                           price_of(between, prices) < price_of(most, prices);
    if (!is_better || between.bytes <= least.bytes || between.bytes >= most.bytes) break;
    (between.bytes <= limit ? least : most) = std::move(between);
  }
  SavingChoice best = divided(problem, limit, prices, std::move(least));
  return Search(problem, limit, prices, std::move(best)).run();
}

}  // namespace tilewright::graph
