// Spaces of regions, their estimates, trials and whole searches, on the host.
#include "graph/tune/region_tuner.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "dsl/ir/text/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/tune_plan.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/system_memory.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::tune_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

struct Example {
  std::string name;
  Graph graph;
};

std::vector<Example> examples() {
  std::vector<Example> result;
  auto add = [&](const char* name, const std::vector<Shape>& shapes, auto function) {
    result.push_back({name, run_passes(captured(shapes, function))});
  };
  add("linear_gelu", {{20, 48}, {96, 48}, {96}},
      [](Tensors& x) { return Tensors{gelu(linear(x[0], x[1], x[2]))}; });
  add("linear_of_a_row", {{1, 200}, {300, 200}},
      [](Tensors& x) { return Tensors{linear(x[0], x[1])}; });
  add("softmax", {{40, 333}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  add("pointwise", {{64, 2048}, {2048}}, [](Tensors& x) { return Tensors{tanh(x[0]) * x[1] + 1}; });
  add("sum_over_rows", {{300, 70}}, [](Tensors& x) { return Tensors{sum(x[0], {0}, false)}; });
  add("transposed", {{70, 130}},
      [](Tensors& x) { return Tensors{relu(x[0].transpose(0, 1)) * 2}; });
  add("attention", {{2, 4, 37, 16}, {2, 2, 50, 16}, {2, 2, 50, 16}}, [](Tensors& x) {
    return Tensors{scaled_dot_product_attention(
        x[0], x[1], x[2], {.causal = true, .alignment = CausalAlignment::bottom_right})};
  });
  return result;
}

class TuneRegion : public ::testing::TestWithParam<std::size_t> {
 protected:
  Example example_ = examples()[GetParam()];
  TaskList list_ = make_tasks(example_.graph);
  std::vector<FusedRegion> regions_ = fuse_tasks(list_, true);
};
INSTANTIATE_TEST_SUITE_P(Examples, TuneRegion, ::testing::Range<std::size_t>(0, 7),
                         [](const auto& info) { return examples()[info.param].name; });

TEST_P(TuneRegion, SpacesBeginWithWhatTheLoweringChooses) {
  for (const char* processor : {"host", "sm_80", "sm_90a"}) {
    dsl::Target target =
        processor == std::string("host") ? dsl::host_target() : dsl::target_named(processor);
    for (const FusedRegion& fused : regions_) {
      RegionSpace space = region_space(list_, fused.region, target);
      ASSERT_TRUE(space.space.is_legal(space.preferred)) << processor;
      BlockSizes blocks = space.blocks_of(space.preferred);
      BlockSizes chosen = lower(list_, fused.region, target).blocks;
      EXPECT_EQ(blocks.rows, chosen.rows);
      if (blocks.columns != 0) {
        EXPECT_EQ(blocks.columns, chosen.columns);
      }
      EXPECT_EQ(std::max<std::int64_t>(1, blocks.splits), std::max<std::int64_t>(1, chosen.splits));
      EXPECT_GT(space.space.legal_points(1'000'000).size(), 1u);
    }
  }
}

// Not as many as fit a cache: all threads have something to do.
TEST(RegionBlocks, OfAHostAreEnoughForAllThreads) {
  constexpr std::int64_t rows = 130, width = 64;  // a little more than is worth a second program
  Graph graph = captured({{rows, width}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  ASSERT_EQ(regions.size(), 1U);
  std::int64_t block = lower(list, regions[0].region, dsl::host_target()).blocks.rows;
  constexpr std::int64_t as_a_cache_holds = (2 << 10) / width, programs_a_thread = 4;
  const std::int64_t programs = thread_count() == 1 ? 1 : programs_a_thread * thread_count();
  EXPECT_EQ(block, std::min(as_a_cache_holds, (rows + programs - 1) / programs));
}

// Short rows come whole with the hardware's own prefetching.
TEST(RowsAhead, AreFetchedFromAPageOn) {
  for (std::int64_t width : {1000, 1024}) {
    Graph graph = captured({{64, width}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
    TaskList list = make_tasks(graph);
    FusedRegion fused = fuse_tasks(list, true)[0];
    std::string text =
        ir::print(lower(list, fused.region, dsl::host_target(), {.rows = 2, .ahead = 1})
                      .programs[0]
                      .function);
    EXPECT_EQ(text.find("prefetch") != std::string::npos, width * 4 >= 4096) << width;
  }
}

// Where one block has all rows there is none ahead of it, unless there may be more of them later.
TEST(RowsAhead, AreNotFetchedBehindAllRows) {
  Graph graph = captured({{2, 2048}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  TaskList list = make_tasks(graph);
  Region region = fuse_tasks(list, true)[0].region;
  for (bool vary : {false, true}) {
    region.sizes_vary = vary;
    LoweredRegion lowered = lower(list, region, dsl::host_target(), {.rows = 512});
    EXPECT_EQ(ir::print(lowered.programs[0].function).find("prefetch") != std::string::npos, vary);
  }
}

// The first feature is the logarithm of programs a processor.
TEST(RegionEstimates, KnowThatBlocksOfColumnsAreProgramsOfTheirOwn) {
  Graph graph = captured({{64, 2048}}, [](Tensors& x) { return Tensors{tanh(x[0]) + 1}; });
  TaskList list = make_tasks(graph);
  RegionEstimate estimate(list, fuse_tasks(list, true)[0].region, dsl::target_named("sm_80"));
  auto programs = [&](std::int64_t columns) {
    return estimate.features({.rows = 1, .columns = columns}).front();
  };
  EXPECT_GT(programs(128), programs(2048));
}

TEST(RegionSpaces, HaveNoBlocksOfOneColumn) {
  for (bool is_product : {false, true}) {
    Graph graph = captured({{512, 64}, {64, 1}}, [=](Tensors& x) {
      return Tensors{is_product ? matmul(x[0], x[1]) : sum(x[0] * 2, {1}, true)};
    });
    TaskList list = make_tasks(graph);
    Region region = fuse_tasks(list, true)[0].region;
    ASSERT_EQ(region.width, 1);
    ASSERT_EQ(region.splits_columns, is_product);
    for (const char* name : {"avx512", "sm_80"}) {
      auto knobs = region_space(list, region, dsl::target_named(name)).space.knobs();
      EXPECT_EQ(std::ranges::count(knobs, "columns", &autotune::Knob::name), 0) << name;
    }
  }
}

// A GPU's tiles lie in registers and shared memory, a host's in caches.
TEST(RegionSpaces, HaveTilesThatAreCompiledSoon) {
  Graph graph =
      captured({{512, 512}, {2048, 512}}, [](Tensors& x) { return Tensors{linear(x[0], x[1])}; });
  TaskList list = make_tasks(graph);
  Region region = fuse_tasks(list, true)[0].region;
  constexpr std::int64_t of_gpus = 64 << 10, of_hosts = 512 << 10;
  for (const char* name : {"avx512", "sm_80"}) {
    dsl::Target target = dsl::target_named(name);
    RegionSpace space = region_space(list, region, target);
    BlockSizes chosen = space.blocks_of(space.preferred);
    std::int64_t largest = 0;
    for (const autotune::Point& point : space.space.legal_points(1'000'000)) {
      BlockSizes blocks = space.blocks_of(point);
      if (blocks.rows != chosen.rows || blocks.columns != chosen.columns)
        largest = std::max(largest, blocks.rows * blocks.columns);
    }
    EXPECT_LE(largest, target.is_gpu() ? of_gpus : of_hosts) << name;
    EXPECT_GT(largest, target.is_gpu() ? of_gpus / 4 : of_gpus) << name;
  }
}

TEST(RegionSpaces, HaveWhatTheLoweringChoosesHoweverLargeItIs) {
  Graph graph = captured({{9, 200'000}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  TaskList list = make_tasks(graph);
  for (const FusedRegion& fused : fuse_tasks(list, true)) {
    RegionSpace space = region_space(list, fused.region, dsl::target_named("sm_80"));
    EXPECT_TRUE(space.space.is_legal(space.preferred));
  }
}

TEST_P(TuneRegion, EveryPointIsLoweredAsAskedAndComputesTheSame) {
  dsl::Target target = dsl::host_target();
  for (const FusedRegion& fused : regions_) {
    RegionSpace space = region_space(list_, fused.region, target);
    RegionTrial trial(list_, fused.region, Device::cpu());
    auto expected = trial.results(trial.compile({}));
    std::vector<autotune::Point> points = space.space.legal_points(100'000);
    for (std::size_t i = 0; i < points.size(); i += std::max<std::size_t>(1, points.size() / 12)) {
      BlockSizes blocks = space.blocks_of(points[i]);
      RegionCandidate candidate = trial.compile(blocks);
      ASSERT_EQ(candidate.failure.reason, "") << space.space.text(points[i]);
      EXPECT_EQ(candidate.lowered.blocks.rows, blocks.rows);
      if (blocks.columns != 0) {
        EXPECT_EQ(candidate.lowered.blocks.columns, blocks.columns);
      }
      EXPECT_EQ(trial.difference(expected, trial.results(candidate)), "")
          << space.space.text(points[i]);
    }
  }
}

// No machine has its 16 TiB.
TEST(RegionTrialMemory, WhatTheMachineHasNoMemoryForIsRefusedBeforeAnyIsTaken) {
  Graph graph =
      run_passes(captured({{1 << 20, 1 << 22}}, [](Tensors& x) { return Tensors{tanh(x[0])}; }));
  TaskList list = make_tasks(graph);
  FusedRegion fused = fuse_tasks(list, true)[0];
  try {
    RegionTrial trial(list, fused.region, Device::cpu());
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("[tune] running a region by itself needs 67108864 MiB"));
    EXPECT_THAT(error.what(), HasSubstr(" MiB, half of the "));
  }
}

// A region may take half of the free memory: between the two it fits the machine, and is refused.
TEST(RegionTrialMemory, HalfOfWhatIsFreeIsLeftToOthers) {
  std::int64_t elements = available_bytes() / 4 * 3 / 16;  // read, stored, and two results of f32
  Graph graph = run_passes(captured({{elements}}, [](Tensors& x) { return Tensors{tanh(x[0])}; }));
  TaskList list = make_tasks(graph);
  FusedRegion fused = fuse_tasks(list, true)[0];
  EXPECT_THROW(RegionTrial(list, fused.region, Device::cpu()), OutOfMemory);
}

TEST(RegionTrialMemory, IsNotFilledAnyMoreOnceTheTimeIsOver) {
  Graph graph = run_passes(captured({{1 << 20}}, [](Tensors& x) { return Tensors{tanh(x[0])}; }));
  TaskList list = make_tasks(graph);
  FusedRegion fused = fuse_tasks(list, true)[0];
  EXPECT_THROW(RegionTrial(list, fused.region, Device::cpu(), {}, autotune::steady_seconds()),
               TimeIsUp);
  TuneSettings settings;
  settings.budget.seconds = 0;
  RegionTuning tuning = tune_region(list, fused.region, Device::cpu(), settings);
  EXPECT_TRUE(tuning.measured.empty());
  EXPECT_EQ(tuning.ended, autotune::Ended::seconds);
  EXPECT_EQ(tuning.chosen, tuning.space.preferred);
}

TEST_P(TuneRegion, EstimatesArePositiveAndKnowThatOneRowAProgramCosts) {
  for (const FusedRegion& fused : regions_) {
    RegionSpace space = region_space(list_, fused.region, dsl::host_target());
    RegionEstimate estimate(list_, fused.region, dsl::host_target());
    for (const autotune::Point& point : space.space.legal_points(1000)) {
      double seconds = estimate.seconds(space.blocks_of(point));
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << space.space.text(point);
      for (double feature : estimate.features(space.blocks_of(point)))
        EXPECT_TRUE(std::isfinite(feature)) << space.space.text(point);
    }
  }
}

TEST_P(TuneRegion, SearchesAndChoosesALegalPoint) {
  TuneSettings settings;
  settings.budget = {6, 30};
  settings.sample_seconds = 1e-5;
  for (const FusedRegion& fused : regions_) {
    int told = 0;
    RegionTuning tuning =
        tune_region(list_, fused.region, Device::cpu(), settings, {},
                    [&](const autotune::Tuning& so_far, const autotune::Finding&) {
                      told += !so_far.measured.empty();
                    });
    EXPECT_EQ(tuning.measured.size(), 6u);
    EXPECT_EQ(told, 6);
    EXPECT_EQ(tuning.measured[0].point, tuning.space.preferred);
    EXPECT_TRUE(tuning.space.space.is_legal(tuning.chosen));
    for (const autotune::Finding& one : tuning.measured) EXPECT_EQ(one.reason, "");
    // The winner was timed twice, and those times are stored: they alone can choose it again.
    auto key = tuning_key(list_, fused.region, Device::cpu());
    const RegionSpace& space = tuning.space;
    auto rows = autotune::rows_of(key, space.space, space.preferred, tuning.measured);
    for (const autotune::Point& winner :
         {tuning.chosen, autotune::choice_of(space.space, space.preferred, rows)}) {
      if (winner == space.preferred) continue;
      auto at = std::ranges::find(tuning.measured, winner, &autotune::Finding::point);
      ASSERT_NE(at, tuning.measured.end());
      EXPECT_EQ(at->samples.size(), 25u);
    }
  }
}

TEST(RowsAhead, AreFetchedAsAskedAndTunedWhereRowsAreLong) {
  dsl::Target host = dsl::host_target();
  for (std::int64_t width : {32, 2048}) {
    Graph graph = captured({{64, width}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
    TaskList list = make_tasks(graph);
    FusedRegion fused = fuse_tasks(list, true)[0];
    auto text = [&](std::int64_t ahead) {
      return ir::print(
          lower(list, fused.region, host, {.rows = 2, .ahead = ahead}).programs[0].function);
    };
    bool is_long = width == 2048;
    EXPECT_EQ(text(1).find("prefetch") != std::string::npos, is_long);
    EXPECT_EQ(text(-1).find("prefetch"), std::string::npos);
    EXPECT_EQ(text(0), text(1));
    EXPECT_EQ(text(2) != text(1), is_long);
    auto knobs = region_space(list, fused.region, host).space.knobs();
    EXPECT_EQ(std::ranges::count(knobs, "ahead", &autotune::Knob::name), is_long ? 1 : 0);
    if (is_long) {  // where one block has all rows there is none ahead of it
      RegionSpace space = region_space(list, fused.region, host);
      EXPECT_TRUE(space.space.parse("rows=64 ahead=-1").has_value());
      EXPECT_FALSE(space.space.parse("rows=64 ahead=2").has_value());
      EXPECT_TRUE(space.space.parse("rows=2 ahead=2").has_value());
    }
    auto of_gpu = region_space(list, fused.region, dsl::target_named("sm_80")).space.knobs();
    EXPECT_EQ(std::ranges::count(of_gpu, "ahead", &autotune::Knob::name), 0);
  }
}

TEST(RegionTrial, NamesTheElementThatDiffers) {
  Graph graph = run_passes(captured({{8, 8}}, [](Tensors& x) { return Tensors{x[0] + 1}; }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  RegionTrial trial(list, regions[0].region, Device::cpu());
  auto expected = trial.results(trial.compile({})), wrong = expected;
  EXPECT_EQ(trial.difference(expected, wrong), "");
  reinterpret_cast<float*>(wrong[0].data())[5] += 0.5F;
  EXPECT_THAT(trial.difference(expected, wrong), HasSubstr("of result 0 element 5 is"));
}

TEST(RegionTrial, LeavesARegionAloneThatTakesNoTime) {
  Graph graph = run_passes(captured({{8, 8}}, [](Tensors& x) { return Tensors{x[0] + 1}; }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  TuneSettings settings;
  settings.least_seconds = 1;
  settings.sample_seconds = 1e-5;
  RegionTuning tuning = tune_region(list, regions[0].region, Device::cpu(), settings);
  EXPECT_TRUE(tuning.measured.empty());
  EXPECT_EQ(tuning.chosen, tuning.space.preferred);
}

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
}  // namespace tilewright::graph::tune_test
