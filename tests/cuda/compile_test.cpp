// Compiled functions on a GPU, in all modes, on the fake driver.
#include "graph/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "models/decoder/decoder.h"
#include "models/layers/layers.h"
#include "runtime/cuda/context.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compile_test {
namespace {

using cuda::FakeDriver;

// Compiles to several regions, with values between them.
struct Block {
  Tensor first = ramp({48, 32}), second = ramp({32, 48}, 0.02F);
  Tensor forward(const Tensor& x) const {
    Tensor h = linear(layer_norm(x), first);
    return softmax(linear(relu(h), second) + x, -1);
  }
  Block on(const Device& device) const { return {first.to(device), second.to(device)}; }
};

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

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

// Greedy ids of a text that begins with `prompt`.
std::vector<std::int64_t> ids_after(Decoder& model, const Options& options, std::int64_t prompt,
                                    int count) {
  auto state = model.new_state();
  Compiled step = compile(
      [&](const Tensor& ids, const Tensor& at) { return model.decode_last(ids, at, *state); },
      options);
  std::vector<std::int64_t> ids{prompt};
  for (int i = 0; i < count; ++i) {
    Tensor logits = step(Tensor::from<std::int64_t>({ids.back()}, {1, 1}),
                         Tensor::from<std::int64_t>({i}, {1}));
    auto values = logits.to_vector<float>();
    ids.push_back(std::ranges::max_element(values) - values.begin());
  }
  return ids;
}

TEST(CudaCompile, ALlamaWritesTheSameInEveryModeOnTheDevice) {
  FakeDriver fake;
  auto host = random_decoder(decoder_config("tiny"), 3);
  std::vector<std::int64_t> wanted = ids_after(*host, {}, 5, 12);
  auto model = random_decoder(decoder_config("tiny"), 3);
  model->to(Device::cuda());
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    EXPECT_EQ(ids_after(*model, {.mode = mode}, 5, 12), wanted) << name_of(mode);
  EXPECT_EQ(ids_after(*model, {.backend = Backend::eager}, 5, 3),
            (std::vector<std::int64_t>(wanted.begin(), wanted.begin() + 4)));
}

TEST(CudaCompile, ACompiledModuleGoesToADeviceAndBack) {
  FakeDriver fake;
  Linear layer(16, 8);
  Compiled fast = compile(layer);
  Tensor x = ramp({4, 16});
  Tensor wanted = fast(x);
  Compiled there = fast.to(Device::cuda());
  EXPECT_EQ(layer.weight.device(), Device::cuda());
  Tensor y = there(x.to(Device::cuda()));
  EXPECT_EQ(y.device(), Device::cuda());
  expect_near(y, wanted);
  layer.to(Device::cpu());  // what was compiled follows
  expect_near(there(x), wanted);
}

TEST(CudaCompile, WeightsAreLoadedOntoTheDevice) {
  FakeDriver fake;
  Linear from(16, 8), to(16, 8);
  to.to(Device::cuda());
  to.load(Weights::of(from.state()));
  EXPECT_EQ(to.weight.device(), Device::cuda());
  EXPECT_EQ(to.weight.to_vector<float>(), from.weight.to_vector<float>());
  LayerOptions half{.dtype = bf16};
  Linear narrow(16, 8, true, half);
  narrow.to(Device::cuda());
  narrow.load(Weights::of(to.state()));
  EXPECT_EQ(narrow.weight.to(f32).to_vector<float>(),
            from.weight.to(bf16).to(f32).to_vector<float>());
}

// Loops and choices, whose conditions the host reads: they run in graphs that cannot hold them.
TEST(CudaCompile, ControlFlowComputesWhatTheHostDoes) {
  FakeDriver fake;
  auto function = [](const std::vector<Tensor>& t) {
    auto cell = [&](const std::vector<Tensor>& state, const std::vector<Tensor>& x) -> Turn {
      Tensor next = tanh(matmul(state[0], t[2]) + x[0]);
      return {{next}, {next * 2.0}};
    };
    auto [last, all] = scan(cell, {t[0]}, {t[1]});
    std::vector<Tensor> halved =
        while_loop([](const std::vector<Tensor>& s) { return amax(abs(s[0])) > 0.01; },
                   [](const std::vector<Tensor>& s) {
                     return std::vector<Tensor>{s[0] * 0.5, s[1] + 1};
                   },
                   {last[0], zeros({1}, i64).to(t[0].device())});
    std::vector<Tensor> one = cond(
        sum(t[0]) > 0.0, [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] + 1}; },
        [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * 3.0}; }, {all[0]});
    return std::vector<Tensor>{last[0], all[0], halved[0], halved[1].to(f32), one[0]};
  };
  for (float sign : {1.0F, -1.0F}) {
    std::vector<Tensor> host = {ramp({3, 16}, 0.1F * sign), ramp({5, 3, 16}), ramp({16, 16})};
    std::vector<Tensor> there;
    for (const Tensor& tensor : host) there.push_back(tensor.to(Device::cuda()));
    std::vector<Tensor> wanted = function(host);
    for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
      auto fast = compile(function, {.mode = mode});
      for (int call = 0; call < 2; ++call) {
        std::vector<Tensor> got = fast(there);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          expect_near(got[i].to(Device::cpu()), wanted[i]);
      }
    }
  }
}

// C++ of the user's works on copies in the host's memory, and the first operand is given back too.
TEST(CudaCompile, CustomOpsOfTheHostAreCalledBetweenLaunches) {
  FakeDriver fake;
  const auto like_first = [](std::span<const TensorType> x) {
    return std::vector<TensorType>{x[0]};
  };
  const CustomOp reversed = custom_op(
      "reversed", like_first,
      BufferFunction([](std::span<const BufferView> operands, std::span<const BufferView> results) {
        std::ranges::reverse_copy(operands[0].elements<const float>(),
                                  results[0].elements<float>().begin());
      }));
  const CustomOp doubled = custom_op(
      "doubled", like_first,
      BufferFunction([](std::span<const BufferView>, std::span<const BufferView> results) {
        for (float& x : results[0].elements<float>()) x *= 2;
      }),
      {.writes = {0}});
  auto function = [&](const Tensor& x, const Tensor& state) {
    Tensor back = reversed(x + 1.0) * 3.0;
    doubled(state);
    return back + sum(state);
  };
  Tensor x = ramp({20, 7}), host_state = ramp({5}), wanted = function(x, host_state);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(function, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      Tensor state = ramp({5}).to(Device::cuda());
      expect_near(fast(x.to(Device::cuda()), state).to(Device::cpu()), wanted);
      expect_near(state.to(Device::cpu()), host_state);
    }
  }
}

}  // namespace
}  // namespace tilewright::compile_test
