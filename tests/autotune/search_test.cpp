#include "autotune/search/search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "autotune/database/row/statistics.h"
#include "autotune/search/strategies.h"
#include "tests/autotune/landscape.h"
#include "tests/errors.h"

namespace tilewright::autotune::search_test {
namespace {

using ::testing::HasSubstr;

MeasureBatch measured(const Landscape& landscape, std::vector<Proposal>* seen = nullptr) {
  return [&landscape, seen](const std::vector<Proposal>& batch) {
    std::vector<double> result;
    for (const Proposal& proposal : batch) {
      result.push_back(landscape.seconds.at(proposal.point));
      if (seen) seen->push_back(proposal);
    }
    return result;
  };
}

class EveryStrategy : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Search, EveryStrategy, ::testing::ValuesIn(strategy_names()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryStrategy, MeasuresTheDefaultFirstThenSeedsAndNothingTwice) {
  Landscape landscape = product_landscape(3);
  Problem problem = landscape.problem();
  problem.seeds = {landscape.space.parse("rows=128 columns=64 depth=64 unroll=2").value(),
                   Point{0, 0}, landscape.preferred};
  auto strategy = make_strategy(GetParam(), problem, 5);
  std::vector<Proposal> seen;
  SearchOutcome outcome = search(problem, *strategy, measured(landscape, &seen), {40});
  EXPECT_EQ(seen[0].point, landscape.preferred);
  EXPECT_EQ(seen[1].point, problem.seeds[0]);
  EXPECT_EQ(outcome.ended, Ended::trials);
  EXPECT_LE(outcome.history.effort(), 40);
  EXPECT_GT(outcome.history.effort(), 39);
  std::set<std::pair<Point, double>> different;
  for (const Proposal& proposal : seen) {
    EXPECT_TRUE(landscape.space.is_legal(proposal.point));
    EXPECT_TRUE(different.insert({proposal.point, proposal.effort}).second);
  }
  EXPECT_LE(outcome.seconds, landscape.seconds.at(landscape.preferred));
}

TEST_P(EveryStrategy, RepeatsItselfWithEqualSeeds) {
  Landscape landscape = product_landscape(4);
  Problem problem = landscape.problem();
  std::vector<Proposal> first, second;
  for (std::vector<Proposal>* seen : {&first, &second})
    search(problem, *make_strategy(GetParam(), problem, 9), measured(landscape, seen), {30});
  EXPECT_EQ(first, second);
}

TEST_P(EveryStrategy, EndsWithASmallSpaceAndFindsItsBest) {
  Space space;
  space.choose("a", {1, 2, 3}).choose("b", {1, 2});
  Problem problem{&space, {0, 0}, {}, {}, {}};
  auto time = [](const Point& p) { return p == Point{2, 1} ? 1.0 : 2.0 + p[0] + p[1]; };
  MeasureBatch measure = [&](const std::vector<Proposal>& batch) {
    std::vector<double> result;
    for (const Proposal& proposal : batch) result.push_back(time(proposal.point));
    return result;
  };
  SearchOutcome outcome = search(problem, *make_strategy(GetParam(), problem, 1), measure, {100});
  EXPECT_EQ(outcome.ended, Ended::space);
  EXPECT_EQ(outcome.best, (Point{2, 1}));
}

TEST_P(EveryStrategy, SurvivesFailures) {
  Landscape landscape = product_landscape(6);
  Random random(2);
  for (auto& [point, seconds] : landscape.seconds)
    if (random() % 2 == 0) seconds = std::numeric_limits<double>::infinity();
  Problem problem = landscape.problem();
  SearchOutcome outcome =
      search(problem, *make_strategy(GetParam(), problem, 1), measured(landscape), {64});
  EXPECT_TRUE(std::isfinite(outcome.seconds));

  for (auto& [point, seconds] : landscape.seconds)
    seconds = std::numeric_limits<double>::infinity();
  outcome = search(problem, *make_strategy(GetParam(), problem, 1), measured(landscape), {64});
  EXPECT_EQ(outcome.best, landscape.preferred);
  EXPECT_TRUE(std::isinf(outcome.seconds));
}

TEST(Search, StopsWhenTimeIsSpent) {
  Landscape landscape = product_landscape(1);
  Problem problem = landscape.problem();
  double now = 0;
  MeasureBatch measure = [&](const std::vector<Proposal>& batch) {
    now += 1;
    return std::vector<double>(batch.size(), 1.0);
  };
  SearchOutcome outcome = search(problem, *make_strategy("random", problem, 1), measure,
                                 {1000, 5.5}, {}, [&] { return now; });
  EXPECT_EQ(outcome.ended, Ended::seconds);
  EXPECT_EQ(now, 6);
}

TEST(Search, EndsWhereThereWasNoTimeForAllOfABatch) {
  Landscape landscape = product_landscape(1);
  Problem problem = landscape.problem();
  int batches = 0;
  MeasureBatch measure = [&](const std::vector<Proposal>& batch) {
    return std::vector<double>(batch.size() - (++batches == 3 ? 1 : 0), 1.0);
  };
  SearchOutcome outcome =
      search(problem, *make_strategy("random", problem, 1), measure, {1000, 1e9});
  EXPECT_EQ(outcome.ended, Ended::seconds);
  EXPECT_EQ(batches, 3);
}

TEST(Search, LearnsFromWhatIsKnownAndDoesNotMeasureItAgain) {
  Landscape landscape = product_landscape(1);
  Problem problem = landscape.problem();
  History known =
      search(problem, *make_strategy("random", problem, 1), measured(landscape), {50}).history;
  std::vector<Proposal> seen;
  SearchOutcome outcome = search(problem, *make_strategy("model_guided", problem, 1),
                                 measured(landscape, &seen), {8}, known);
  EXPECT_EQ(seen.size(), 8u);
  for (const Proposal& proposal : seen) EXPECT_FALSE(known.knows(proposal.point));
  EXPECT_EQ(outcome.history.trials().size(), 58u);
}

TEST(Search, OfAnExhaustiveKindFindsTheBest) {
  Landscape landscape = product_landscape(2);
  EXPECT_EQ(quality_after(landscape, "exhaustive", 1e6, 1), 1);
}

TEST(Search, RefusesADefaultOutsideTheSpaceAndUnknownStrategies) {
  Landscape landscape = product_landscape(2);
  Problem problem = landscape.problem();
  EXPECT_THAT(error_of([&] { make_strategy("guess", problem, 1); }),
              HasSubstr("model_guided, exhaustive, random, evolutionary, successive_halving"));
  auto strategy = make_strategy("random", problem, 1);
  problem.preferred = {0};
  EXPECT_THAT(error_of([&] { search(problem, *strategy, measured(landscape), {8}); }),
              HasSubstr("not a legal point"));
}

TEST(Search, TakesTheLeastEstimateWithoutATrial) {
  Landscape landscape = product_landscape(2);
  Problem problem = landscape.problem();
  Point choice = untried_choice(problem);
  for (const auto& [point, estimate] : landscape.estimates)
    EXPECT_LE(landscape.estimates.at(choice), estimate);
  problem.estimate = nullptr;
  EXPECT_EQ(untried_choice(problem), landscape.preferred);
}

// The benefit of learning: on rugged spaces of some 500 points.
TEST(Search, GuidedByAModelNeedsFarFewerTrialsThanChance) {
  std::vector<double> qualities, guided, chance;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Landscape landscape = product_landscape(seed);
    for (std::uint64_t run = 0; run < 5; ++run) {
      qualities.push_back(quality_after(landscape, "model_guided", 32, run));
      guided.push_back(trials_to_reach(landscape, "model_guided", 0.97, run));
      chance.push_back(trials_to_reach(landscape, "random", 0.97, run));
    }
  }
  RecordProperty("quality_of_32_trials", std::to_string(geometric_mean(qualities)));
  RecordProperty("share_of_random_trials", std::to_string(median(guided) / median(chance)));
  EXPECT_GE(geometric_mean(qualities), 0.95);
  EXPECT_LE(median(guided), 0.35 * median(chance));
}

}  // namespace
}  // namespace tilewright::autotune::search_test
