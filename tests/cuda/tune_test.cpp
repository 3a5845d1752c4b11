// Tuning regions, and kernels written by hand, on a GPU.
#include <gmock/gmock.h>

#include <cmath>

#include "autotune/kernel_tuner.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/tune_region.h"
#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/workload.h"
#include "tests/graph/captured.h"
#include "tests/setting.h"

namespace tilewright::graph::tune_test {
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
  RegionTrial trial(list, regions[0].region, device);
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
    RegionTuning tuning = tune_region(list, fused.region, device, settings);
    EXPECT_EQ(tuning.measured.size(), 6U);
    EXPECT_TRUE(tuning.space.space.is_legal(tuning.chosen));
    for (const autotune::Finding& one : tuning.measured) EXPECT_EQ(one.reason, "");
  }
  EXPECT_EQ(fake.fault(), "");
}

// And the driver has everything back.
TEST_F(TuneOnGpu, AFaultWhileAGraphIsTimedNamesTheKernel) {
  RegionTrial trial(list, regions[0].region, device);
  RegionCandidate candidate = trial.compile({});
  fake.fault_at_kernel(1);
  try {
    trial.seconds(candidate, 1e-6);
    FAIL() << "no fault";
  } catch (const cuda::ContextLost& lost) {
    EXPECT_THAT(lost.what(), testing::HasSubstr("product_matmul"));
  }
}

// y += 2 x, a block a program.
void add_twice(dsl::Pointer x, dsl::Pointer y, dsl::Scalar n, dsl::Constexpr block) {
  dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
  dsl::store(y + i, dsl::load(y + i, i < n) + dsl::load(x + i, i < n) * 2.0, i < n);
}

struct TuneKernelOnGpu : ::testing::Test {
  cuda::FakeDriver fake;
  Setting device = Setting("TILEWRIGHT_DEVICE", "cuda:0");
  Setting no_database = Setting("TILEWRIGHT_TUNE_DB", "/dev/null/none");
  dsl::Kernel add = dsl::Kernel("add_twice", add_twice, {"x", "y", "n", "block"});
  static constexpr std::int64_t elements = 1000;
  cuda::Taken x{cuda::context(0), std::vector<float>(elements, 1)};
  cuda::Taken y{cuda::context(0), std::vector<float>(elements, 3)};

  // The configurations that were measured.
  std::vector<std::string> launch(autotune::KernelTuning tuning) {
    std::vector<std::string> measured;
    tuning.space.choose("block", {64, 128, 256});
    tuning.budget.seconds = 1e6;  // however slow the machine is
    tuning.grid = [](const autotune::KernelCall& call) {
      return Grid{(call["n"] + call["block"] - 1) / call["block"]};
    };
    tuning.listener = [&](const std::string& one, double seconds, const std::string& reason) {
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << one << ' ' << reason;
      measured.push_back(one);
    };
    autotune::TunedKernel tuned(add, tuning);
    tuned.launch(dsl::LaunchArgument(x.data(), f32, elements),
                 dsl::LaunchArgument(y.data(), f32, elements), elements);
    return measured;
  }
};

TEST_F(TuneKernelOnGpu, TimesInsideGraphsAndRunsOnceAsFarAsTheCallerSees) {
  EXPECT_THAT(launch({}), testing::SizeIs(3));
  EXPECT_GT(fake.calls("cuGraphLaunch"), 6);     // one of each candidate is not counted
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), 4);  // three checks, and the caller's
  EXPECT_THAT(y.floats(elements), testing::Each(5));
}

TEST_F(TuneKernelOnGpu, RunsHooksAroundEachTimedLaunch) {
  int before = 0, after = 0;
  autotune::KernelTuning tuning;
  tuning.pre_hook = [&](const autotune::KernelCall&) { ++before; };
  tuning.post_hook = [&](const autotune::KernelCall&) { ++after; };
  launch(tuning);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 0);
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), before + 1);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace tilewright::graph::tune_test
