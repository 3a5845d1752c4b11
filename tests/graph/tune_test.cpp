// Spaces of regions and their estimates on the host: each point of a space is legal and computes
// the same.
#include "graph/tune/region_tuner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/tune_plan.h"
#include "runtime/cpu/parallel.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::tune_test {
namespace {

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

}  // namespace
}  // namespace tilewright::graph::tune_test
