// The tuner of regions with its database, and the shares of its budget.
#include <gmock/gmock.h>

#include <unistd.h>
#include <filesystem>
#include <set>

#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/region_tuner.h"
#include "graph/tune/tune_plan.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::region_tuner_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

// A tuner of one region and a database of its own.
struct TunerTest : ::testing::Test {
  Graph graph =
      captured({{200, 64}, {96, 64}}, [](Tensors& x) { return Tensors{relu(linear(x[0], x[1]))}; });
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  const Region& region = regions[0].region;
  RegionSpace space = region_space(list, region, dsl::host_target());
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("tuner_" + std::to_string(::getpid()));
  autotune::TuningDatabase database{(folder / "tuning.db").string()};
  autotune::TuningKey key = tuning_key(list, region, Device::cpu());

  TunerTest() { std::filesystem::create_directories(folder); }
  ~TunerTest() override { std::filesystem::remove_all(folder); }
  RegionTuner tuner{list, Device::cpu(), database};
  BlockSizes search() {
    TuneSettings settings;
    settings.budget = {6, 30};
    settings.sample_seconds = 1e-5;
    return tuner.search(region, settings);
  }
  autotune::TuningRow row(const autotune::Point& point, double seconds, std::size_t samples = 25) {
    autotune::Observation observation;
    observation.date_ms = 1'700'000'000'000;
    observation.samples_ns.assign(samples, seconds * 1e9);
    return {key, autotune::configuration_of(space.space, point), with_bounds(observation)};
  }
};

TEST_F(TunerTest, SearchesAndThenKnows) {
  KnownRegion before = tuner.look_up(region);
  EXPECT_TRUE(before.has_choice);
  EXPECT_FALSE(before.is_known);
  BlockSizes chosen = search();
  EXPECT_EQ(database.rows(key).size(), 6u);
  KnownRegion after = tuner.look_up(region);
  EXPECT_TRUE(after.is_known);
  EXPECT_EQ(after.blocks, chosen);
  EXPECT_GT(after.default_seconds, 0);
}

TEST_F(TunerTest, ChoosesByTheStoredTimes) {
  std::vector<autotune::Point> points = space.space.legal_points(100);
  std::erase(points, space.preferred);
  database.store({row(space.preferred, 1e-3), row(points[0], 0.99e-3), row(points[1], 1.2e-3)});
  EXPECT_EQ(tuner.look_up(region).blocks, BlockSizes{});  // one per cent moves nobody
  EXPECT_NEAR(tuner.look_up(region).default_seconds, 1e-3, 1e-9);
  database.store({row(points[3], 0.5e-3, 5)});  // nobody looked twice
  EXPECT_EQ(tuner.look_up(region).blocks, BlockSizes{});
  database.store({row(points[2], 0.9e-3)});
  EXPECT_EQ(tuner.look_up(region).blocks, space.blocks_of(points[2]));
}

TEST_F(TunerTest, LooksAgainAtWinnerAndRunnerUpOfAnotherCompiler) {
  std::vector<autotune::Point> points = space.space.legal_points(100);
  std::erase(points, space.preferred);
  std::vector<autotune::TuningRow> old = {row(space.preferred, 1e-3), row(points[3], 0.8e-3),
                                          row(points[5], 0.7e-3), row(points[7], 2e-3)};
  for (autotune::TuningRow& one : old) one.key.compiler.set("sources", "of_another_build");
  database.store(old);
  search();
  std::set<std::string> measured, expected;
  for (const autotune::TuningRow& one : database.rows(key))
    measured.insert(one.configuration.text());
  for (const autotune::Point& point : {space.preferred, points[3], points[5]})
    expected.insert(autotune::configuration_of(space.space, point).text());
  EXPECT_EQ(measured, expected);
}

TEST_F(TunerTest, IsNotMisledByRowsOfOtherSpaces) {
  autotune::TuningRow foreign = row(space.preferred, 1e-9);
  foreign.configuration = autotune::Configuration().set("rows", 7777).set("columns", 3);
  database.store({foreign, row(space.preferred, 1e-3)});
  EXPECT_EQ(tuner.look_up(region).blocks, BlockSizes{});
}

TEST_F(TunerTest, EndsWhenItIsAskedTo) {
  std::stop_source source;
  TuneSettings settings;
  settings.stop = source.get_token();
  int told = 0;
  auto stop_soon = [&](const autotune::Tuning&, const autotune::Finding&) {
    told += source.request_stop();
  };
  EXPECT_THROW(tune_region(list, region, Device::cpu(), settings, {}, stop_soon), Stopped);
  EXPECT_EQ(told, 1);
}

// A trial that tuning did not reach has not failed: nothing is reported or stored.
TEST_F(TunerTest, CallsNothingAFailureThatItDidNotComeTo) {
  std::stop_source source;
  source.request_stop();
  TuneSettings settings;
  settings.stop = source.get_token();
  int told = 0;
  auto count = [&](const autotune::Tuning&, const autotune::Finding&) { ++told; };
  EXPECT_THROW(tune_region(list, region, Device::cpu(), settings, {}, count), Stopped);
  EXPECT_EQ(told, 0);
}

TEST_F(TunerTest, KeysTellShapesTypesAndDevicesApart) {
  Graph other =
      captured({{201, 64}, {96, 64}}, [](Tensors& x) { return Tensors{relu(linear(x[0], x[1]))}; });
  TaskList tasks = make_tasks(other);
  std::vector<FusedRegion> fused = fuse_tasks(tasks, true);
  autotune::TuningKey rows = tuning_key(tasks, fused[0].region, Device::cpu());
  EXPECT_NE(rows.question(), key.question());
  EXPECT_NE(key.kernel, "");
  EXPECT_EQ(rows.kernel, key.kernel);
  auto emulated = tuning_key(list, region, Device::emulated("sm_90a"));
  EXPECT_NE(emulated.question(), key.question());
  EXPECT_EQ(tuning_key(list, region, Device::cpu()).hash(), key.hash());
  database.store({row(space.preferred, 1e-3)});
  EXPECT_THAT(database.why_miss(rows).text(), HasSubstr("rows"));
}

TEST(BudgetShares, AreThoseOfACallAndTheLargestGoesFirst) {
  PlanTuning tuning{.seconds = 10, .least_share = 0.05};
  // A call of 20 ms, 3 of them in regions that are not to be tuned.
  BudgetShares shares({2e-3, 12e-3, 0.5e-3, 2.5e-3}, 20e-3, tuning);
  EXPECT_EQ(shares.order(), (std::vector<std::size_t>{1, 3, 0}));
  EXPECT_NEAR(shares.next(0), 10 * 12 / 16.5, 1e-9);
  EXPECT_NEAR(shares.next(6.4), 3.6 * 2.5 / 4.5, 1e-9);  // less was spent than might have been
  EXPECT_NEAR(shares.next(9), 1, 1e-9);
}

TEST(BudgetShares, AreOfEveryRegionWhereNoShareIsTooSmall) {
  BudgetShares shares({1, 3, 0, 2}, 6, {.seconds = 6, .least_share = 0});
  EXPECT_EQ(shares.order(), (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(BudgetShares, GiveNothingWhereTheBudgetIsSpent) {
  BudgetShares shares({1, 1}, 2, {.seconds = 1});
  EXPECT_EQ(shares.next(0), 0.5);
  EXPECT_EQ(shares.next(1.5), 0);
}

}  // namespace
}  // namespace tilewright::graph::region_tuner_test
