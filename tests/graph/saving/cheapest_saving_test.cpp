// The choice of values to keep, against all choices that there are.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "graph/saving/choose_saved.h"

namespace tilewright::cheapest_saving_test {
namespace {

using graph::SavingCandidate;
using graph::SavingProblem;

constexpr std::int64_t impossible = std::numeric_limits<std::int64_t>::max();

std::int64_t up_to(std::mt19937_64& random, std::int64_t most) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
}

SavingProblem random_problem(std::mt19937_64& random) {
  SavingProblem problem(3 + random() % 8);
  for (std::uint32_t i = 0; i < problem.size(); ++i) {
    SavingCandidate& value = problem[i];
    value.node = i;
    const bool is_view = i > 0 && random() % 5 == 0;
    value.may_be_saved = !is_view;
    value.may_be_again = is_view || random() % 4 > 0;
    value.is_needed = i + 1 == problem.size() || random() % 2 == 0;
    if (!is_view) value.bytes = up_to(random, 20);
    if (!is_view) value.cost = 1 + up_to(random, 30);
    if (value.may_be_again && i > 0)
      for (std::uint64_t k = is_view ? 1 : random() % 3; k > 0; --k)
        value.operands.push_back(static_cast<std::uint32_t>(random() % i));
  }
  return problem;
}

// The bytes and the cost where the values of `saved`, a bit each, are kept if they are wanted.
struct Outcome {
  std::int64_t bytes = 0, cost = 0;
};
Outcome outcome_of(const SavingProblem& problem, std::uint64_t saved) {
  Outcome outcome;
  std::vector<bool> is_wanted(problem.size());
  for (std::size_t i = problem.size(); i-- > 0;) {
    const SavingCandidate& value = problem[i];
    if (!value.is_needed && !is_wanted[i]) continue;
    const bool is_saved = (saved >> i & 1) != 0;
    if (is_saved ? !value.may_be_saved : !value.may_be_again) return {impossible, impossible};
    outcome.bytes += is_saved ? value.bytes : 0;
    outcome.cost += is_saved ? 0 : value.cost;
    if (!is_saved)
      for (std::uint32_t operand : value.operands) is_wanted[operand] = true;
  }
  return outcome;
}

std::uint64_t bits_of(const std::vector<bool>& flags) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) bits |= std::uint64_t{1} << i;
  return bits;
}

TEST(CheapestSaving, IsThatOfAnExhaustiveSearch) {
  std::mt19937_64 random(7);
  int gaps = 0;
  for (int round = 0; round < 400; ++round) {
    const SavingProblem problem = random_problem(random);
    const std::int64_t all = all_saved(problem).bytes;
    std::int64_t least_bytes = impossible;
    const std::int64_t limit = up_to(random, all);
    std::int64_t least_cost = impossible;
    for (std::uint64_t saved = 0; saved < std::uint64_t{1} << problem.size(); ++saved) {
      const Outcome outcome = outcome_of(problem, saved);
      least_bytes = std::min(least_bytes, outcome.bytes);
      if (outcome.bytes <= limit) least_cost = std::min(least_cost, outcome.cost);
    }
    ASSERT_EQ(least_saved(problem).bytes, least_bytes) << round;
    const auto found = cheapest_within(problem, limit);
    ASSERT_EQ(found.has_value(), least_cost != impossible) << round;
    if (!found) continue;
    const Outcome outcome = outcome_of(problem, bits_of(found->choice.is_saved));
    ASSERT_EQ(outcome.cost, least_cost) << round;
    ASSERT_EQ(found->choice.cost, least_cost) << round;
    ASSERT_EQ(found->choice.bytes, outcome.bytes) << round;
    ASSERT_LE(found->choice.bytes, limit) << round;
    ASSERT_EQ(found->bound, least_cost) << round;
    gaps += outcome.bytes < limit ? 1 : 0;
  }
  EXPECT_GT(gaps, 20);  // limits between two choices are among them
}

TEST(CheapestSaving, OfManyValuesIsBetweenItsBoundAndTwiceThat) {
  std::mt19937_64 random(11);
  SavingProblem chain;
  for (std::uint32_t i = 0; i < 300; ++i) {
    chain.push_back({.node = i, .bytes = 100 + up_to(random, 900), .cost = 1 + up_to(random, 99)});
    if (i > 0) chain.back().operands = {i - 1};
    chain.back().is_needed = i % 3 == 0;
  }
  const std::int64_t all = all_saved(chain).bytes;
  for (std::int64_t tenth = 1; tenth <= 9; ++tenth) {
    const auto found = cheapest_within(chain, all / 10 * tenth);
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(found->choice.bytes, all / 10 * tenth);
    EXPECT_GE(found->choice.cost, found->bound);
    EXPECT_LE(found->choice.cost, 2 * found->bound) << tenth;
  }
}

TEST(CheapestSaving, KeepsWhatMayNotBeComputedAgain) {
  // A product between two cheap values: 1 may not be made again, and 2 is, from it.
  const SavingProblem problem = {
      {.node = 0, .bytes = 8, .cost = 1, .is_needed = true},
      {.node = 1, .operands = {0}, .bytes = 8, .cost = 0, .may_be_again = false},
      {.node = 2, .operands = {1}, .bytes = 16, .cost = 2, .is_needed = true}};
  const auto choice = least_saved(problem);
  EXPECT_EQ(choice.is_saved, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(choice.is_again, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(choice.bytes, 8);
  EXPECT_FALSE(cheapest_within(problem, 7).has_value());
}

}  // namespace
}  // namespace tilewright::cheapest_saving_test
