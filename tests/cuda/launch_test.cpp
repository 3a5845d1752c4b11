// Kernels from PTX to their start, and graphs of them, on the fake driver.
#include "runtime/cuda/launch.h"

#include <gmock/gmock.h>
#include <malloc.h>

#include "tests/cuda/fake_driver.h"
#include "tests/cuda/programs.h"
#include "tests/cuda/scaled_launch.h"
#include "tests/cuda/workload.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::cuda::launch_test {
namespace {

using namespace testing_launch;

using testing::Each;
using testing::HasSubstr;

TEST_F(CudaLaunch, StartsAgainWithOtherArguments) {
  FakeDriver fake;
  Context& gpu = context(0);
  Taken x(gpu, std::vector<float>(300, 1)), y(gpu, std::int64_t{1200});
  PreparedLaunch prepared(gpu, *scale, {3});
  prepared.set_arguments(scale_arguments(x, y, 300, 2).data());
  prepared.start();
  prepared.set_arguments(scale_arguments(y, x, 300, 5).data());
  prepared.start();
  EXPECT_THAT(x.floats(300), Each(16));
  EXPECT_EQ(fake.calls("cuModuleLoadData"), 1);
}

TEST_F(CudaLaunch, UnloadsTheKernelsThatWereUsedLeastRecently) {
  Setting one("TILEWRIGHT_KEPT_PLANS", "1");
  FakeDriver fake;
  Context& gpu = context(0);
  auto pair = artifact_of(pair_program());
  Taken x(gpu, std::vector<float>(256, 1)), y(gpu, std::int64_t{1024}), z(gpu, std::int64_t{1024});
  const Argument pair_arguments[] = {{.pointer = y.data()}, {.pointer = z.data()}};
  launch(gpu, *scale, {2}, scale_arguments(x, y, 256, 2).data());
  launch(gpu, *pair, {2}, pair_arguments);  // while the kernel before it may run
  EXPECT_EQ(fake.calls("cuModuleUnload"), 1);
  EXPECT_THAT(z.floats(256), Each(6));
  EXPECT_THAT(scaled(4), Each(5));
  EXPECT_EQ(fake.calls("cuModuleLoadData"), 3);
  EXPECT_EQ(fake.fault(), "");
}

TEST_F(CudaLaunch, APreparedLaunchKeepsItsKernel) {
  Setting one("TILEWRIGHT_KEPT_PLANS", "1");
  FakeDriver fake;
  Context& gpu = context(0);
  auto other = artifact_of(scale_program(3));
  Taken x(gpu, std::vector<float>(128, 1)), y(gpu, std::int64_t{512});
  {
    PreparedLaunch prepared(gpu, *scale, {1});
    launch(gpu, *other, {1}, scale_arguments(x, y, 128, 2).data());
    EXPECT_EQ(fake.calls("cuModuleUnload"), 0);
    prepared.set_arguments(scale_arguments(y, x, 128, 2).data());
    prepared.start();
  }
  EXPECT_EQ(fake.calls("cuModuleUnload"), 1);
  EXPECT_THAT(x.floats(128), Each(11));
}

TEST_F(CudaLaunch, DoesNothingForAnEmptyGrid) {
  FakeDriver fake;
  launch(context(0), *scale, {0}, nullptr);
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), 0);
}

TEST_F(CudaLaunch, RefusesGridsThatAreTooLarge) {
  FakeDriver fake;
  EXPECT_THAT(error_of([&] {
                PreparedLaunch(context(0), *scale, {1, 70000, 1});
              }),
              HasSubstr("has 70000 programs along axis 1; a GPU takes at most 65535"));
  // Blocks of persistent kernels lie along axis 0.
  PreparedLaunch(context(0), *artifact_of(product_program()), {1, 70000, 1});
}

// As many clusters as have room at once, and never a part of one.
TEST_F(CudaLaunch, PersistentKernelsFillTheGpuWithWholeClusters) {
  for (int cluster : {1, 2}) {
    auto product = artifact_of(product_program(cluster));
    ASSERT_TRUE(product->gpu->persistent);
    for (int multiprocessors : {3, 4, 7}) {
      FakeDriver fake({.devices = {{.multiprocessors = multiprocessors}}});
      PreparedLaunch many(context(0), *product, {2, 200, 1}), few(context(0), *product, {2, 1, 1});
      EXPECT_EQ(static_cast<int>(many.node_params().grid[0]), multiprocessors / cluster * cluster);
      EXPECT_EQ(few.node_params().grid[0], 2U);
    }
  }
}

TEST_F(CudaLaunch, RefusesClustersThatHaveNoRoom) {
  FakeDriver fake({.devices = {{.multiprocessors = 1}}});
  EXPECT_THAT(error_of([] {
                PreparedLaunch(context(0), *artifact_of(product_program(2)), {2, 2, 1});
              }),
              HasSubstr("in clusters of 2 blocks of "));
}

TEST_F(CudaLaunch, RefusesArraysThatTheCopyEngineCannotTake) {
  FakeDriver fake;
  Context& gpu = context(0);
  auto product = artifact_of(product_program());
  Taken a(gpu, std::int64_t{1} << 20);
  PreparedLaunch prepared(gpu, *product, {2, 2, 1});
  Argument arguments[] = {a.argument(), a.argument(), a.argument()};
  arguments[1].integer += 8;
  EXPECT_THAT(error_of([&] { prepared.set_arguments(arguments); }),
              HasSubstr("it must begin at a multiple of 16 bytes"));
}

TEST_F(CudaLaunch, SaysWhatTheDriversCompilerSays) {
  FakeDriver fake;
  Artifact broken = *scale;
  GpuCode code = *scale->gpu;
  code.text = ".version 99.9\n.target sm_90a\n";
  code.key = Hasher().add(code.text).finish();
  broken.gpu = std::make_shared<GpuCode>(code);
  std::string error = error_of([&] { PreparedLaunch(context(0), broken, {1}); });
  EXPECT_THAT(error, HasSubstr("compiling kernel " + code.entry + " for Fake H100"));
  EXPECT_THAT(error, HasSubstr("Unsupported .version 99.9"));
  EXPECT_THAT(error, HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"));
  code.shared_bytes = 1 << 20;
  broken.gpu = std::make_shared<GpuCode>(code);
  EXPECT_THAT(error_of([&] { PreparedLaunch(context(0), broken, {1}); }),
              HasSubstr("bytes of shared memory; a block of Fake H100 has at most 232448"));
}

TEST_F(CudaLaunch, CompilesAgainOnlyWhatMayHaveMoreRegisters) {
  const std::string text = ".version 8.0\n.entry f()\n.reqntid 128, 1, 1\n{\n}\n";
  EXPECT_EQ(with_all_registers(text, 128),
            ".version 8.0\n.entry f()\n.reqntid 128, 1, 1\n.maxnreg 255\n{\n}\n");
  EXPECT_THAT(*with_all_registers(text, 512), HasSubstr("\n.maxnreg 128\n"));
  EXPECT_THAT(*with_all_registers(text, 1024), HasSubstr("\n.maxnreg 64\n"));
  EXPECT_EQ(with_all_registers(text + ".maxnreg 40\n", 128), std::nullopt);
  EXPECT_EQ(with_all_registers(text + ".local .b8 depot[8];\n", 128), std::nullopt);
  EXPECT_EQ(with_all_registers("{\n}\n", 128), std::nullopt);
}

// A failure at the second attempt leaves nothing behind.
TEST_F(CudaLaunch, GivesBackWhatSpilledWhereTheSecondTimeFails) {
  FakeDriver fake({.spilled_bytes = 36});
  fake.fail("cuLinkComplete", 2, Result::out_of_memory);
  EXPECT_THAT(error_of([&] { scaled(3); }), HasSubstr("compiling kernel"));
  EXPECT_THAT(scaled(3), Each(4));
}

TEST_F(CudaLaunch, ReplaysAGraphWithoutTakingAnything) {
  FakeDriver fake;
  Context& gpu = context(0);
  Taken x(gpu, std::vector<float>(128, 0)), y(gpu, std::vector<float>(128, 0));
  std::vector<PreparedLaunch> launches;
  for (int i = 0; i < 2; ++i) {
    launches.emplace_back(gpu, *scale, Grid(1));
    launches.back().set_arguments(scale_arguments(i == 0 ? x : y, i == 0 ? y : x, 128, 1).data());
  }
  KernelGraph graph(gpu, launches);
  std::vector<float> zero(128, 0);
  auto replay = [&](int times) {
    for (int i = 0; i < times; ++i) {
      launches[0].set_arguments(scale_arguments(x, y, 128, static_cast<float>(i % 2)).data());
      graph.update(0);
      graph.start();
      if (i % 100 == 99) {
        ASSERT_THAT(x.floats(128), Each(testing::Gt(1)));
      }
      if (i % 7 == 3) gpu.copy_from_host(x.data(), zero.data(), 512);
    }
    gpu.synchronize();
  };
  replay(1000);
  std::string live = fake.leaks();
  std::size_t memory = fake.memory_in_use();
  std::size_t heap = ::mallinfo2().uordblks;
  replay(10000);
  EXPECT_EQ(fake.leaks(), live);
  EXPECT_EQ(fake.memory_in_use(), memory);
  EXPECT_LT(::mallinfo2().uordblks, heap + (64 << 10));
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 1);
}

}  // namespace
}  // namespace tilewright::cuda::launch_test
