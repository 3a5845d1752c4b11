// Compiled functions on a GPU, in all modes, on the fake driver.
#include "graph/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "models/decoder/decoder.h"
#include "models/layers/layers.h"
#include "runtime/cuda/context.h"
#include "tests/cuda/compiled_block.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compile_test {
namespace {

using namespace testing_cuda;

using cuda::FakeDriver;

TEST(CudaCompile, EveryModeComputesWhatTheHostDoes) {
  FakeDriver fake;
  Block host, device = host.on(Device::cuda());
  for (Mode mode : modes) {
    Compiled fast = compile(device, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      Tensor x = ramp({20, 32}, 0.01F * static_cast<float>(call + 1));
      Tensor y = fast(x.to(Device::cuda()));
      EXPECT_EQ(y.device(), Device::cuda());
      expect_near(y, host.forward(x));
    }
  }
}

TEST(CudaCompile, RowNumbersThatLieOnAGpuAreLookedAtOnRequest) {
  FakeDriver fake;
  Tensor table = ramp({10, 3}).to(Device::cuda());
  auto rows = [](std::int64_t last) {
    return Tensor::from(std::vector<std::int64_t>{4, last}, {2});
  };
  auto function = [&](const Tensor& ids) { return embedding(ids, table); };
  std::vector<float> unchecked = compile(function)(rows(10).to(Device::cuda())).to_vector<float>();
  EXPECT_EQ(std::vector<float>(unchecked.begin() + 3, unchecked.end()), std::vector<float>(3, 0));
  expect_contains(error_of([&] { compile(function)(rows(10)); }), "[embedding] id 10 is outside");
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled f = compile(function, {.mode = mode, .index_checks = IndexChecks::all});
    expect_contains(error_of([&] { f(rows(10).to(Device::cuda())); }),
                    "[embedding] id 10 is outside a table of 10 rows");
    EXPECT_EQ(f(rows(9).to(Device::cuda())).shape(), (Shape{2, 3}));
  }
}

TEST(CudaCompile, AReplayIsOneCallOfTheDriver) {
  FakeDriver fake;
  Block device = Block().on(Device::cuda());
  Compiled fast = compile(device, {.mode = Mode::reduce_overhead});
  Tensor x = ramp({20, 32}).to(Device::cuda());
  fast(x);
  auto before = [&](const char* name) { return fake.calls(name); };
  std::int64_t launches = before("cuGraphLaunch"),
               updates = before("cuGraphExecKernelNodeSetParams");
  std::int64_t kernels = before("cuLaunchKernelEx"), memory = before("cuMemAlloc");
  for (int call = 0; call < 10; ++call) fast(x);
  EXPECT_EQ(before("cuGraphLaunch"), launches + 10);
  EXPECT_EQ(before("cuGraphExecKernelNodeSetParams"), updates);
  EXPECT_EQ(before("cuLaunchKernelEx"), kernels);
  EXPECT_EQ(before("cuMemAlloc"), memory);
  Tensor other = ramp({20, 32}, 0.02F).to(Device::cuda());
  expect_near(fast(other), Block().forward(other.to(Device::cpu())));
  EXPECT_GT(before("cuGraphExecKernelNodeSetParams"), updates);
}

// A tensor that a function uses has moved, or has been replaced by another.
TEST(CudaCompile, FollowsTensorsThatMoveAndThatAreAssignedAnew) {
  FakeDriver fake;
  for (Mode mode : modes) {
    Tensor weight = ramp({16}), x = ramp({16}, 0.02F);
    Compiled fast = compile([&weight](const Tensor& x) { return x * weight; }, {.mode = mode});
    expect_near(fast(x), x * ramp({16}));
    weight.move_to(Device::cuda());
    expect_near(fast(x), x * ramp({16}));
    EXPECT_EQ(fast.report()[0].device, "cuda:0");
    weight = full({16}, 3).to(Device::cuda());
    expect_near(fast(x), x * 3);
    weight = full({16}, 4);
    expect_near(fast(x), x * 4);
    EXPECT_EQ(fast.report()[0].device, "cpu");
    EXPECT_EQ(fast.report().size(), 1u);
  }
}

TEST(CudaCompile, MeasuresLaunchesOneByOneWhereAsked) {
  FakeDriver fake;
  Block device = Block().on(Device::cuda());
  Compiled fast = compile(device, {.mode = Mode::reduce_overhead});
  Tensor x = ramp({20, 32}).to(Device::cuda());
  fast(x);
  EXPECT_EQ(fast.report()[0].timed_calls, 0);
  fast.measure({x}, 3);
  EXPECT_EQ(fast.report()[0].timed_calls, 3);
  PlanReport report = fast.report()[0];
  for (const RegionReport& region : report.regions) EXPECT_GT(region.run_seconds, 0);
}

TEST(CudaCompile, StateIsWrittenInPlaceWhereverItLies) {
  FakeDriver fake;
  for (const Device& device : {Device::cpu(), Device::cuda()}) {
    Tensor state = ramp({8}).to(device);
    std::vector<float> before = state.to_vector<float>();
    Compiled fast = compile(
        [state](const Tensor& x) mutable {
          state.copy_from(state + x);
          return state * 2;
        },
        {.mode = Mode::reduce_overhead, .device = Device::cuda()});
    for (int call = 1; call < 4; ++call) {
      Tensor doubled = fast(Tensor::from(std::vector<float>(8, 1), {8}));
      EXPECT_NEAR(state.to_vector<float>()[5], before[5] + static_cast<float>(call), 1e-5);
      EXPECT_NEAR(doubled.to_vector<float>()[5], 2 * (before[5] + static_cast<float>(call)), 1e-5);
    }
  }
}

// The updates of tensors of several sizes, of which the first lies elsewhere in each call.
TEST(CudaCompile, SeveralUpdatesAreOneKernelWhoseArgumentsMayMove) {
  FakeDriver fake;
  for (Mode mode : modes) {
    std::vector<Tensor> states;
    for (std::int64_t size : {48, 100, 1, 16, 5000})
      states.push_back(ramp({size}).to(Device::cuda()));
    Compiled step = compile(
        [&](const Tensor& x) {
          for (Tensor& s : states) s.copy_from(s * 0.5 + 1);
          return x * 0.5 + 1;
        },
        {.mode = mode});
    std::vector<Tensor> expected = states;
    for (Tensor& t : expected) t = t.to(Device::cpu());
    for (int call = 0; call < 3; ++call) {
      Tensor x = ramp({64}, 0.01F * static_cast<float>(call + 1));
      expect_near(step(x.to(Device::cuda())), x * 0.5 + 1);
      for (std::size_t i = 0; i < states.size(); ++i) {
        expected[i] = expected[i] * 0.5 + 1;
        expect_near(states[i], expected[i]);
      }
    }
    EXPECT_LE(step.report()[0].launches, 4);
  }
}

TEST(CudaCompile, ReadingAResultThatWasOverwrittenIsAnError) {
  FakeDriver fake;
  Block device = Block().on(Device::cuda());
  Compiled fast = compile(device, {.mode = Mode::reduce_overhead});
  Tensor x = ramp({20, 32}).to(Device::cuda());
  Tensor first = fast(x);
  fast(x);
  expect_contains(error_of([&] { first.to_vector<float>(); }),
                  "output 0 of step 1 of a function compiled with reduce-overhead, and step 2");
}

TEST(CudaCompile, DevicesMayNotBeMixed) {
  FakeDriver fake({.devices = {{}, {}}});
  Compiled fast = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  Tensor x = ramp({8});
  expect_contains(error_of([&] { fast(x.to(Device::cuda(0)), x.to(Device::cuda(1))); }),
                  "[compile] argument 1 lies on cuda:1, others on cuda:0; bring them to one device "
                  "with to()");
}

TEST(CudaCompile, ACallFromAnotherDeviceSaysSo) {
  FakeDriver fake({.devices = {{}, {}}});
  Compiled fast = compile([](const Tensor& x) { return x * 2; });
  Tensor x = ramp({8});
  for (int device : {0, 1}) fast(x.to(Device::cuda(device)));
  EXPECT_EQ(fast.recompilations().at(0).sentence(),
            "argument 0: it lies on cuda:1, compiled for cuda:0");
}

// The bytes that the plan foresees are those that the recordings of all shapes take.
TEST(CudaCompile, TheArenaIsOneAndAsLargeAsForeseen) {
  FakeDriver fake;
  Block device = Block().on(Device::cuda());
  Compiled fast = compile(device, {.mode = Mode::reduce_overhead});
  cuda::Context& context = cuda::context(0);
  for (std::int64_t rows : {4, 64, 20, 128}) {
    Tensor x = ramp({rows, 32}).to(Device::cuda());
    expect_near(fast(x), Block().forward(x.to(Device::cpu())));
  }
  std::int64_t most = 0;
  for (const PlanReport& plan : fast.report()) most = std::max(most, plan.arena_bytes);
  EXPECT_GT(most, 0);
  EXPECT_EQ(context.pool().bytes_of("intermediate values"), (most + 511) / 512 * 512);
  // Signatures that were recorded before the arena moved know where it is.
  Tensor x = ramp({4, 32}).to(Device::cuda());
  expect_near(fast(x), Block().forward(x.to(Device::cpu())));
}

}  // namespace
}  // namespace tilewright::compile_test
