// Tensors of the host as arguments, results and state of functions that are compiled for a GPU.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "runtime/cuda/context.h"
#include "tests/cuda/compiled_block.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::host_tensors_test {
namespace {

using namespace testing_cuda;

using cuda::FakeDriver;

TEST(CudaCompile, TensorsOfTheHostAreCopiedThereAndBack) {
  FakeDriver fake;
  Block host;
  Compiled fast = compile(host, {.mode = Mode::reduce_overhead, .device = Device::cuda()});
  for (int call = 0; call < 3; ++call) {
    Tensor x = ramp({20, 32}, 0.01F * static_cast<float>(call + 1));
    Tensor y = fast(x);
    EXPECT_EQ(y.device(), Device::cpu());
    expect_near(y, host.forward(x));
  }
  expect_contains(fast.explain(), "on cuda:0");
  expect_contains(fast.explain(), "KiB from the host; tensors moved to the device with to()");
}

// A result that is what the argument then holds is a copy of that.
TEST(CudaCompile, ResultsAreCopiesOfArgumentsOfTheHostAsTheyAreAfterwards) {
  FakeDriver fake;
  for (Mode mode : modes) {
    auto fast = compile(
        [](Tensor t) {
          t.slice(0, 1, 3).copy_from(zeros({2, 6}));
          return t * 1.0;
        },
        {.mode = mode, .device = Device::cuda()});
    Tensor x = ramp({4, 6}).clone(), result = fast(x);
    EXPECT_EQ(x.to_vector<float>()[8], 0);
    EXPECT_EQ(result.to_vector<float>(), x.to_vector<float>());
    x.copy_from(ones({4, 6}));
    EXPECT_EQ(result.to_vector<float>()[8], 0);
  }
}

// Halves of the columns of an array are separate although their bytes interleave.
TEST(CudaCompile, PartsOfAnArrayOfTheHostAreWrittenEach) {
  FakeDriver fake;
  for (Mode mode : modes) {
    Tensor array = full({3, 4}, 5).clone();
    Tensor left = array.slice(1, 0, 2), last = array.slice(1, 3, 4);
    auto fast = compile(
        [](Tensor a, Tensor b, const Tensor& x) {
          a.copy_from(x + 1.0);
          b.copy_from(x.slice(1, 0, 1) + 2.0);
          return x * 2.0;
        },
        {.mode = mode, .device = Device::cuda()});
    fast(left, last, zeros({3, 2}));
    EXPECT_EQ(array.to_vector<float>(), (std::vector<float>{1, 1, 5, 2, 1, 1, 5, 2, 1, 1, 5, 2}));
  }
}

// Between breaks, what is computed of the host's tensors is the host's too, as at once.
TEST(CudaCompile, AFunctionOfTheHostsTensorsMayWriteThroughAddresses) {
  FakeDriver fake;
  for (Mode mode : modes) {
    auto fast = compile(
        [](const Tensor& x, const Tensor& weight) {
          Tensor y = x * 2.0, z = x * weight;
          EXPECT_EQ(z.device(), weight.device());
          EXPECT_EQ(y.device(), weight.device());
          Tensor w = x + 1.0;
          EXPECT_EQ(w.device(), x.device());
          static_cast<float*>(w.data())[1] = 7;
          return std::vector<Tensor>{y + w, z};
        },
        {.mode = mode, .tell_breaks = false, .device = Device::cuda()});
    for (const Device& device : {Device::cpu(), Device::cuda()})
      for (int call = 0; call < 2; ++call) {
        const std::vector<Tensor> results = fast(ones({3}), full({3}, 4).to(device));
        EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{4, 9, 4}));
        EXPECT_EQ(results[1].to_vector<float>(), std::vector<float>(3, 4));
        EXPECT_EQ(results[1].device(), device);
      }
  }
}

// As on the host: a write to one is visible in the other. In segments that holds for views too.
TEST(CudaCompile, ResultsThatAreOneTensorAreOneOnTheHost) {
  FakeDriver fake;
  for (Mode mode : modes)
    for (bool breaks : {false, true}) {
      auto fast = compile(
          [=](const Tensor& x) {
            Tensor y = x * 2.0;
            if (breaks) static_cast<void>(sum(y).item<float>());
            return std::vector<Tensor>{y, x + 1.0, y, y.slice(0, 1, 3)};
          },
          {.mode = mode, .tell_breaks = false, .device = Device::cuda()});
      for (int call = 0; call < 2; ++call) {
        std::vector<Tensor> results = fast(ones({4}));
        for (const Tensor& result : results) EXPECT_EQ(result.device(), Device::cpu());
        results[0].copy_from(full({4}, 9));
        EXPECT_EQ(results[1].to_vector<float>(), std::vector<float>(4, 2));
        EXPECT_EQ(results[2].to_vector<float>(), std::vector<float>(4, 9));
        EXPECT_EQ(results[3].to_vector<float>(), std::vector<float>(2, breaks ? 9 : 2));
      }
    }
}

}  // namespace
}  // namespace tilewright::host_tensors_test
