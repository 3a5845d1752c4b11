// Contexts, their memory and their streams, on the fake driver.
#include "runtime/cuda/context.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/launch.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/programs.h"
#include "tests/cuda/workload.h"
#include "tests/errors.h"

namespace tilewright::cuda::context_test {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(CudaContext, KnowsItsDevice) {
  FakeDriver fake(
      {.devices = {{}, {.name = "Fake A100", .major = 8, .multiprocessors = 7}}, .version = 12040});
  DeviceFacts facts = device_facts(1);
  EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(facts.name, "Fake A100");
  EXPECT_EQ(facts.compute_capability(), "8.0");
  EXPECT_EQ(facts.multiprocessors, 7);
  EXPECT_EQ(facts.memory_bytes, 1 << 30);
  EXPECT_EQ(facts.shared_bytes, 166912);
  EXPECT_EQ(facts.driver_version, 12040);
  EXPECT_EQ(context(1).name(), "cuda:1");
  EXPECT_EQ(&context(1), &context(1));
  EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 1);
}

TEST(CudaContext, RefusesDevicesThatAreNotThere) {
  FakeDriver fake({.devices = {{}, {}}});
  EXPECT_THAT(error_of([] { context(2); }),
              HasSubstr("there is no GPU cuda:2; there are cuda:0 to cuda:1"));
  EXPECT_THAT(error_of([] { context(-1); }), HasSubstr("there is no GPU cuda:-1"));
  FakeDriver one;
  EXPECT_THAT(error_of([] { context(1); }), HasSubstr("there is one, cuda:0"));
  FakeDriver none({.devices = {}});
  EXPECT_THAT(error_of([] { context(0); }), HasSubstr("this machine has none"));
}

TEST(CudaContext, RefusesDevicesThatAreTooOld) {
  FakeDriver fake({.devices = {{.name = "Fake T4", .major = 7, .minor = 5}}});
  EXPECT_THAT(error_of([] { context(0); }),
              HasSubstr("(Fake T4) has compute capability 7.5; 8.0 (Ampere) or newer is needed"));
}

// Many copies, small and large, of memory that changes as soon as the call is back.
TEST(CudaContext, CopiesWhatTheHostHadAtTheCall) {
  FakeDriver fake;
  Context& gpu = context(0);
  constexpr int copies = 3000;
  constexpr std::size_t words = 100;
  Taken memory(gpu, std::int64_t{copies} * words * 4);
  std::vector<float> source(words);
  for (int i = 0; i < copies; ++i) {
    std::fill(source.begin(), source.end(), static_cast<float>(i));
    gpu.copy_from_host(static_cast<std::byte*>(memory.data()) + i * words * 4, source.data(),
                       words * 4);
  }
  std::vector<float> got = memory.floats(copies * words);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<float>(i / words));
  std::vector<float> large(1 << 20);
  std::iota(large.begin(), large.end(), 0.0F);
  Taken second(gpu, large);
  EXPECT_EQ(second.floats(large.size()), large);
}

// Weights: several times the ring, in sizes that do not fit its halves. The host does not wait for
// the device, though it may change its bytes at once.
TEST(CudaContext, CopiesLargeThingsThroughPinnedMemory) {
  FakeDriver fake;
  Context& gpu = context(0);
  for (std::size_t words : {5'000U, 1'000'000U, 1'048'576U, 1'048'577U, 5'500'001U}) {
    std::vector<float> source(words);
    for (std::size_t i = 0; i < words; ++i) source[i] = static_cast<float>(i % 4099);
    std::vector<float> wanted = source;
    std::int64_t waits = fake.calls("cuStreamSynchronize");
    Taken x(gpu, source);
    std::fill(source.begin(), source.end(), -1.0F);
    EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits);
    EXPECT_TRUE(x.floats(words) == wanted) << words;
  }
}

// The device reads memory that the program pinned in place; and without any pinned memory copies
// work as the driver makes them.
TEST(CudaContext, CopiesPinnedMemoryAsItIsAndDoesWithoutAny) {
  constexpr std::int64_t bytes = 6 << 20;
  FakeDriver fake;
  Context& gpu = context(0);
  gpu.make_current();
  void* pinned = nullptr;
  must(driver().cuMemHostAlloc(&pinned, bytes, 0), "cuMemHostAlloc");
  std::memset(pinned, 3, bytes);
  std::int64_t allocations = fake.calls("cuMemHostAlloc");
  Taken x(gpu, bytes);
  gpu.copy_from_host(x.data(), pinned, bytes);
  std::memset(pinned, 0, bytes);
  gpu.copy_to_host(pinned, x.data(), bytes);
  EXPECT_EQ(static_cast<char*>(pinned)[bytes - 1], 3);
  EXPECT_EQ(fake.calls("cuMemHostAlloc"), allocations);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync"), 1);
  must(driver().cuMemFreeHost(pinned), "cuMemFreeHost");
  fake.fail("cuMemHostAlloc", 1, Result::out_of_memory);
  std::vector<float> values(bytes / 4, 2);
  Taken y(gpu, values);
  EXPECT_TRUE(y.floats(values.size()) == values);
}

// A stream that is still at work when its context goes, as at the end of a test.
TEST(CudaContext, WaitsForAllStreamsBeforeItGoes) {
  auto scale = artifact_of(scale_program());
  std::int64_t run = 0;
  {
    FakeDriver fake;
    auto gpu = std::make_unique<Context>(0);
    StreamHandle users = nullptr;
    must(driver().cuStreamCreateWithPriority(&users, stream_non_blocking, 0), "create");
    auto x = std::make_unique<Taken>(*gpu, std::vector<float>(128, 1));
    gpu->synchronize();
    {
      StreamScope scope(*gpu, users);
      launch(*gpu, *scale, {1}, scale_arguments(*x, *x, 128, 1).data());
    }
    x.reset();
    gpu.reset();
    run = fake.kernels_run();
    EXPECT_EQ(fake.fault(), "");
    void* context = nullptr;
    must(driver().cuDevicePrimaryCtxRetain(reinterpret_cast<ContextHandle*>(&context), 0),
         "retain");
    must(driver().cuCtxSetCurrent(static_cast<ContextHandle>(context)), "set");
    must(driver().cuStreamDestroy(users), "destroy");
    must(driver().cuDevicePrimaryCtxRelease(0), "release");
  }
  EXPECT_EQ(run, 1);
}

TEST(CudaContext, CopiesFromSeveralStreamsThroughOneRing) {
  FakeDriver fake;
  Context& gpu = context(0);
  Stream streams[3] = {Stream(gpu), Stream(gpu), Stream(gpu)};
  constexpr int copies = 900;
  std::vector<float> source(512);
  Taken memory(gpu, copies * 2048);
  for (int i = 0; i < copies; ++i) {
    StreamScope scope(gpu, streams[i % 3].handle());
    std::fill(source.begin(), source.end(), static_cast<float>(i));
    gpu.copy_from_host(static_cast<std::byte*>(memory.data()) + i * 2048, source.data(), 2048);
  }
  for (Stream& stream : streams) {
    StreamScope scope(gpu, stream.handle());
    gpu.synchronize();
  }
  std::vector<float> got = memory.floats(copies * 512);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<float>(i / 512));
}

TEST(CudaContext, NestsTheStreamsOfAThread) {
  FakeDriver fake({.devices = {{}, {}}});
  Context &gpu = context(0), &second = context(1);
  StreamHandle own = gpu.stream();
  Stream a(gpu), b(gpu), c(second);
  {
    StreamScope outer(gpu, a.handle());
    EXPECT_EQ(gpu.stream(), a.handle());
    {
      StreamScope other(second, c.handle());
      StreamScope inner(gpu, b.handle());
      EXPECT_EQ(gpu.stream(), b.handle());
      EXPECT_EQ(second.stream(), c.handle());
    }
    EXPECT_EQ(gpu.stream(), a.handle());
    std::thread([&] { EXPECT_EQ(gpu.stream(), own); }).join();
  }
  EXPECT_EQ(gpu.stream(), own);
}

// Memory that one stream gave back while it works is not taken by another.
TEST(CudaContext, KeepsMemoryWithTheStreamThatUsedIt) {
  FakeDriver fake;
  Context& gpu = context(0);
  auto scale = artifact_of(scale_program());
  Stream other(gpu);
  void* before = nullptr;
  Taken result(gpu, std::int64_t{512});
  {
    Taken block(gpu, std::vector<float>(128, 4));
    before = block.data();
    launch(gpu, *scale, {1}, scale_arguments(block, result, 128, 2).data());
  }
  {
    StreamScope scope(gpu, other.handle());
    Taken taken(gpu, std::vector<float>(128, -7));
    EXPECT_NE(taken.data(), before);
    gpu.synchronize();
  }
  EXPECT_THAT(result.floats(128), Each(9));
  Taken again(gpu, std::int64_t{512});
  EXPECT_EQ(again.data(), before);
}

// A stream that ends leaves its memory to the others, after its work.
TEST(CudaContext, StreamsThatComeAndGoTakeNoMoreMemory) {
  FakeDriver fake;
  Context& gpu = context(0);
  auto scale = artifact_of(scale_program());
  Taken x(gpu, std::vector<float>(128, 1));
  gpu.synchronize();
  for (int i = 0; i < 100; ++i) {
    Stream stream(gpu);
    StreamScope scope(gpu, stream.handle());
    Taken y(gpu, std::int64_t{512});
    launch(gpu, *scale, {1}, scale_arguments(x, y, 128, 1).data());
  }
  EXPECT_EQ(fake.kernels_run(), 100);
  EXPECT_EQ(gpu.pool().statistics().segments_taken, 2);
}

TEST(CudaContext, ServesManyThreads) {
  FakeDriver fake;
  auto scale = artifact_of(scale_program());
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&scale, number] {
      Context& gpu = context(0);
      Stream stream(gpu);
      StreamScope scope(gpu, stream.handle());
      for (int round = 0; round < 20; ++round) {
        int count = 100 + 37 * round;
        Taken x(gpu, std::vector<float>(static_cast<std::size_t>(count), 1)),
            y(gpu, std::int64_t{count} * 4);
        launch(gpu, *scale, {(count + 127) / 128},
               scale_arguments(x, y, count, static_cast<float>(number)).data());
        ASSERT_THAT(y.floats(static_cast<std::size_t>(count)),
                    Each(static_cast<float>(number + 1)));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tilewright::cuda::context_test
