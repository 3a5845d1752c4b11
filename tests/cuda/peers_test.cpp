// Copies from one GPU to another, on the fake driver.
#include "runtime/cuda/peers.h"

#include <gmock/gmock.h>

#include "graph/tensor/tensor.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/programs.h"
#include "tests/cuda/workload.h"

namespace tilewright::cuda::peers_test {
namespace {

using testing::Each;

FakeOptions two_gpus(bool peers = true) { return {.devices = {{}, {}}, .peers = peers}; }

// Bytes of the source that are computed late, and overwritten as soon as they may be.
TEST(CudaPeers, CopiesComeAfterWhatIsBeforeThemAndBeforeWhatIsAfter) {
  FakeDriver fake(two_gpus());
  auto scale = artifact_of(scale_program());
  Context &a = context(0), &b = context(1);
  constexpr int count = 128, bytes = count * 4;
  Taken x(a, std::vector<float>(count, 1)), target(b, std::vector<float>(count, 0));
  a.synchronize();  // other streams use it
  for (int i = 1; i <= 20; ++i) {
    Stream stream(a);
    StreamScope scope(a, stream.handle());
    Taken y(a, std::int64_t{bytes});
    launch(a, *scale, {1}, scale_arguments(x, y, count, static_cast<float>(i)).data());
    ASSERT_TRUE(b.copy_from(target.data(), a, y.data(), bytes));
    launch(a, *scale, {1}, scale_arguments(x, y, count, -1000).data());
    launch(b, *scale, {1}, scale_arguments(target, target, count, 2).data());
    if (i % 7 == 0) {
      EXPECT_THAT(y.floats(count), Each(-999));
    }
    if (i % 5 == 0) {
      EXPECT_THAT(target.floats(count), Each(static_cast<float>(2 * i + 3)));
    }
  }
  EXPECT_EQ(fake.calls("cuCtxEnablePeerAccess"), 1);
}

TEST(CudaPeers, TensorsGoStraightAndWithoutWaiting) {
  FakeDriver fake(two_gpus());
  std::vector<float> values(3'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1013);
  Tensor zero = Tensor::from(values, {1000, 3000}).to(Device::cuda(0));
  std::int64_t to_host = fake.calls("cuMemcpyDtoHAsync"), waits = fake.calls("cuStreamSynchronize");
  Tensor one = zero.to(Device::cuda(1));
  EXPECT_EQ(fake.calls("cuMemcpyDtoHAsync"), to_host);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits);
  EXPECT_EQ(fake.calls("cuMemcpyPeerAsync"), 1);
  zero = {};  // its memory may be used again
  Tensor other = Tensor::from(std::vector<float>(3'000'000, -1), {1000, 3000}).to(Device::cuda(0));
  EXPECT_TRUE(one.to_vector<float>() == values);
  Tensor columns = one.slice(1, 5, 9).to(Device::cuda(0));
  EXPECT_EQ(columns.device(), Device::cuda(0));
  EXPECT_EQ(columns.to_vector<float>(), one.slice(1, 5, 9).to_vector<float>());
}

// The driver copies by its own means where a GPU cannot reach the other, and what it refuses goes
// by way of the host.
TEST(CudaPeers, WhatTheDriverRefusesGoesByWayOfTheHost) {
  for (bool refuses : {false, true}) {
    FakeDriver fake(two_gpus(false));
    if (refuses) fake.fail("cuMemcpyPeerAsync", 1, Result::not_supported);
    std::vector<float> values(3'000'000, 7);
    Tensor one = Tensor::from(values, {3'000'000}).to(Device::cuda(0)).to(Device::cuda(1));
    EXPECT_EQ(one.device(), Device::cuda(1));
    EXPECT_TRUE(one.to_vector<float>() == values);
    EXPECT_EQ(fake.calls("cuCtxEnablePeerAccess"), 0);
  }
}

}  // namespace
}  // namespace tilewright::cuda::peers_test
