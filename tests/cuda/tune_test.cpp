// Tuning regions on a GPU.
#include <gmock/gmock.h>

#include <cmath>

#include "graph/fuse/fuse.h"
#include "graph/passes/pipeline.h"
#include "graph/tune/tune_region.h"
#include "runtime/cuda/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/graph/captured.h"

namespace tilewright::graph {
namespace {

using Tensors = std::vector<Tensor>;

struct TuneOnGpu : ::testing::Test {
  cuda::FakeDriver fake;
  Device device = Device::cuda(0);
  Graph graph = run_passes(captured({{40, 96}, {32, 96}, {32}}, [](Tensors& x) {
    return Tensors{relu(linear(x[0], x[1], x[2]))};
  }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);
};

TEST_F(TuneOnGpu, TimesCandidatesInsideGraphs) {
  RegionTrial trial(graph, list, regions[0].region, device);
  RegionCandidate candidate = trial.compile({});
  ASSERT_EQ(candidate.failure.reason, "");
  trial.results(candidate);
  std::int64_t launches = fake.calls("cuLaunchKernelEx"), graphs = fake.calls("cuGraphLaunch");
  double seconds = trial.seconds(candidate, 1e-6);
  EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << seconds;
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), launches);
  EXPECT_GE(fake.calls("cuGraphLaunch"), graphs + 2);  // one is not counted
  EXPECT_EQ(fake.fault(), "");
}

TEST_F(TuneOnGpu, SearchesAndChoosesALegalPoint) {
  TuneSettings settings;
  settings.budget = {6, 60};
  settings.sample_seconds = 1e-5;
  for (const FusedRegion& fused : regions) {
    RegionTuning tuning = tune_region(graph, list, fused.region, device, settings);
    EXPECT_EQ(tuning.measured.size(), 6U);
    EXPECT_TRUE(tuning.space.space.is_legal(tuning.chosen));
    for (const autotune::Finding& one : tuning.measured) EXPECT_EQ(one.reason, "");
  }
  EXPECT_EQ(fake.fault(), "");
}

// And the driver has everything back.
TEST_F(TuneOnGpu, AFaultWhileAGraphIsTimedNamesTheKernel) {
  RegionTrial trial(graph, list, regions[0].region, device);
  RegionCandidate candidate = trial.compile({});
  fake.fault_at_kernel(1);
  try {
    trial.seconds(candidate, 1e-6);
    FAIL() << "no fault";
  } catch (const cuda::ContextLost& lost) {
    EXPECT_THAT(lost.what(), testing::HasSubstr("product_matmul"));
  }
}

}  // namespace
}  // namespace tilewright::graph
