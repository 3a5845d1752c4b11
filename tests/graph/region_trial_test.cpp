// Trials of regions: their memory, their time, and the comparison of their results.
#include <gmock/gmock.h>

#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/region_tuner.h"
#include "graph/tune/tune_plan.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/cpu/system_memory.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::region_trial_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

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

}  // namespace
}  // namespace tilewright::graph::region_trial_test
