// Spaces of regions, their estimates, trials and whole searches, on the host.
#include "graph/tune/tune_region.h"

#include <gmock/gmock.h>

#include <cmath>

#include "graph/fuse/fuse.h"
#include "graph/passes/pipeline.h"
#include "graph/tune/region_estimate.h"
#include "tests/graph/captured.h"

namespace tilewright::graph {
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
    return Tensors{scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true})};
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
      RegionSpace space = region_space(example_.graph, list_, fused.region, target);
      ASSERT_TRUE(space.space.is_legal(space.preferred)) << processor;
      BlockSizes blocks = space.blocks_of(space.preferred);
      BlockSizes chosen = lower(example_.graph, list_, fused.region, target).blocks;
      EXPECT_EQ(blocks.rows, chosen.rows);
      if (blocks.columns != 0) {
        EXPECT_EQ(blocks.columns, chosen.columns);
      }
      EXPECT_EQ(std::max<std::int64_t>(1, blocks.splits), std::max<std::int64_t>(1, chosen.splits));
      EXPECT_GT(space.space.legal_points(1'000'000).size(), 1u);
    }
  }
}

TEST_P(TuneRegion, EveryPointIsLoweredAsAskedAndComputesTheSame) {
  dsl::Target target = dsl::host_target();
  for (const FusedRegion& fused : regions_) {
    RegionSpace space = region_space(example_.graph, list_, fused.region, target);
    RegionTrial trial(example_.graph, list_, fused.region, Device::cpu());
    auto expected = trial.results(trial.compile({}));
    std::vector<autotune::Point> points = space.space.legal_points(100'000);
    for (std::size_t i = 0; i < points.size(); i += std::max<std::size_t>(1, points.size() / 12)) {
      BlockSizes blocks = space.blocks_of(points[i]);
      RegionCandidate candidate = trial.compile(blocks);
      ASSERT_EQ(candidate.failure, "") << space.space.text(points[i]);
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
    RegionSpace space = region_space(example_.graph, list_, fused.region, dsl::host_target());
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
        tune_region(example_.graph, list_, fused.region, Device::cpu(), settings, {},
                    [&](const RegionTuning& so_far) { told += !so_far.measured.empty(); });
    EXPECT_EQ(tuning.measured.size(), 6u);
    EXPECT_EQ(told, 6);
    EXPECT_EQ(tuning.measured[0].point, tuning.space.preferred);
    EXPECT_TRUE(tuning.space.space.is_legal(tuning.chosen));
    for (const TunedConfiguration& one : tuning.measured) EXPECT_EQ(one.failure, "");
  }
}

TEST(RegionTrial, NamesTheElementThatDiffers) {
  Graph graph = run_passes(captured({{8, 8}}, [](Tensors& x) { return Tensors{x[0] + 1}; }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  RegionTrial trial(graph, list, regions[0].region, Device::cpu());
  auto expected = trial.results(trial.compile({})), wrong = expected;
  EXPECT_EQ(trial.difference(expected, wrong), "");
  reinterpret_cast<float*>(wrong[0].data())[5] += 0.5F;
  EXPECT_THAT(trial.difference(expected, wrong), HasSubstr("element 5 of result 0"));
}

TEST(RegionTrial, LeavesARegionAloneThatTakesNoTime) {
  Graph graph = run_passes(captured({{8, 8}}, [](Tensors& x) { return Tensors{x[0] + 1}; }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
  TuneSettings settings;
  settings.least_seconds = 1;
  settings.sample_seconds = 1e-5;
  RegionTuning tuning = tune_region(graph, list, regions[0].region, Device::cpu(), settings);
  EXPECT_TRUE(tuning.measured.empty());
  EXPECT_EQ(tuning.chosen, tuning.space.preferred);
}

}  // namespace
}  // namespace tilewright::graph
