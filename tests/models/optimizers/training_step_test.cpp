// A step as one function: micro-batches beside whole batches, several steps in one call beside
// calls, and settings that change between calls.
#include "models/training/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/layers/norms.h"
#include "models/optimizers/rules/adam.h"
#include "tests/errors.h"
#include "tests/models/optimizers/networks.h"

namespace tilewright::training_step_test {
namespace {

using ::testing::HasSubstr;

Tensor inputs(std::int64_t steps) { return ramp({steps, 4, 6}); }
Tensor targets(std::int64_t steps) { return ramp({steps, 4, 1}, 0.2F); }

// A network with all that a step may write: weights, states, rates, statistics, averages, and the
// state of a generator.
struct Training : Module {
  Linear first{6, 5}, second{5, 1};
  BatchNorm1d norm{5};
  Generator generator{7};
  Dropout drop{0.25, generator};
  DynamicScalar limit{1.0};
  std::unique_ptr<AdamW> optimizer;
  std::unique_ptr<LrScheduler> scheduler;
  std::unique_ptr<AveragedWeights> average;
  GradScaler scaler{{.init_scale = 0x1p60, .growth_interval = 3}};

  explicit Training(double momentum_of_average = 0.9) {
    register_module("first", first);
    register_module("norm", norm);
    register_module("drop", drop);
    register_module("second", second);
    first.weight.copy_from(ramp({5, 6}, 0.02F));
    first.bias.copy_from(ramp({5}, 0.01F));
    second.weight.copy_from(ramp({1, 5}, 0.1F));
    second.bias.copy_from(ramp({1}));
    optimizer = std::make_unique<AdamW>(*this, AdamWOptions{.lr = 0.01});
    scheduler =
        std::make_unique<LrScheduler>(*optimizer, schedules::cosine_annealing({.t_max = 60}));
    average =
        std::make_unique<AveragedWeights>(*this, AverageOptions{.decay = momentum_of_average});
  }
  Tensor loss(const Tensor& x, const Tensor& y) const {
    return mse_loss(second(drop(norm(tanh(first(x))))), y);
  }
  auto step(std::int64_t accumulate = 1, bool is_scaled = false) {
    return training_step(*this, [this](const Tensor& x, const Tensor& y) { return loss(x, y); },
                         *optimizer,
                         {.accumulate = accumulate,
                          .clip = limit,
                          .scheduler = scheduler.get(),
                          .average = average.get(),
                          .scaler = is_scaled ? &scaler : nullptr});
  }
  // All that training has written.
  NamedTensors all() {
    NamedTensors tensors = state();
    for (const auto& [name, tensor] : optimizer->state())
      tensors.emplace("optimizer." + name, tensor);
    for (const auto& [name, tensor] : average->state()) tensors.emplace("average." + name, tensor);
    for (const auto& [name, tensor] : scheduler->state()) tensors.emplace("rates." + name, tensor);
    for (const auto& [name, tensor] : scaler.state()) tensors.emplace("scaler." + name, tensor);
    return tensors;
  }
};

void expect_same(Training& a, Training& b, double tolerance) {
  const NamedTensors expected = b.all();
  for (const auto& [name, tensor] : a.all()) {
    const auto got = tensor.to(f64).to_vector<double>(),
               wanted = expected.at(name).to(f64).to_vector<double>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << name << " " << i;
  }
}

TEST(TrainingStep, OfMicroBatchesIsThatOfTheWholeBatch) {
  SmallNetwork whole, parts, at_once;
  AdamW one(whole, {.lr = 0.01}), other(parts, {.lr = 0.01}), third(at_once, {.lr = 0.01});
  auto step_of = [](SmallNetwork& net, AdamW& optimizer, std::int64_t accumulate) {
    return training_step(net, [&net](const Tensor& x, const Tensor& y) { return net.loss(x, y); },
                         optimizer, {.accumulate = accumulate});
  };
  auto big = step_of(whole, one, 1), small = step_of(parts, other, 4),
       eager = step_of(at_once, third, 4);
  auto fast =
      compile([&](const Tensor& x, const Tensor& y) { return small(x, y); }, {.fullgraph = true});
  for (int i = 0; i < 5; ++i) {
    const Tensor x = ramp({8, 6}), y = ramp({8, 1}, 0.2F), loss = big(x, y);
    expect_near(loss, fast(x, y));
    expect_near(loss, eager(x, y));
  }
  for (const auto& [name, tensor] : whole.state()) {
    expect_near(tensor, parts.state().at(name));
    expect_near(tensor, at_once.state().at(name));
  }
}

// Statistics and masks of dropout go from one micro-batch to the next, as in a loop.
TEST(TrainingStep, OfMicroBatchesWritesWhatALoopWrites) {
  Training at_once, compiled;
  auto eager = at_once.step(2), step = compiled.step(2);
  auto fast =
      compile([&](const Tensor& x, const Tensor& y) { return step(x, y); }, {.fullgraph = true});
  for (int i = 0; i < 3; ++i) {
    const Tensor x = inputs(2).reshape({8, 6}), y = targets(2).reshape({8, 1});
    expect_near(eager(x, y), fast(x, y));
  }
  EXPECT_EQ(compiled.norm.num_batches_tracked.item<std::int64_t>(), 6);
  expect_same(at_once, compiled, 2e-5);
}

TEST(TrainingStep, RepeatedInOneCallIsAsManyCalls) {
  Training calls, repeated, at_once;
  auto one = calls.step(), many = repeated.step(), eager = at_once.step();
  auto step =
      compile([&](const Tensor& x, const Tensor& y) { return one(x, y); }, {.fullgraph = true});
  auto epoch = compile([&](const Tensor& x, const Tensor& y) { return many.repeat(x, y); },
                       {.fullgraph = true});
  const Tensor x = inputs(5), y = targets(5);
  for (int round = 0; round < 2; ++round) {
    const std::vector<float> losses = epoch(x, y).to_vector<float>();
    const std::vector<float> slow = eager.repeat(x, y).to_vector<float>();
    ASSERT_EQ(losses.size(), 5U);
    for (std::int64_t i = 0; i < 5; ++i) {
      const float loss = step(x.select(0, i).clone(), y.select(0, i).clone()).item<float>();
      EXPECT_EQ(losses[static_cast<std::size_t>(i)], loss) << i;
      EXPECT_NEAR(slow[static_cast<std::size_t>(i)], loss, 1e-5);
    }
  }
  expect_same(calls, repeated, 0);
  expect_same(at_once, repeated, 2e-5);
  EXPECT_EQ(repeated.optimizer->steps().item<double>(), 10);
}

// A loop of steps has weights and states where they lie, so that it takes what a step takes besides
// the slices of a turn.
TEST(TrainingStep, RepeatedUpdatesInPlace) {
  struct Wide : Module {
    Linear first{256, 512}, second{512, 4};
    Wide() {
      register_module("first", first);
      register_module("second", second);
    }
  } net;
  AdamW optimizer(net, {.lr = 0.01});
  auto loss_of = [&](const Tensor& x, const Tensor& y) {
    return mse_loss(net.second(tanh(net.first(x))), y);
  };
  auto step = training_step(net, loss_of, optimizer);
  auto one = compile([&](const Tensor& x, const Tensor& y) { return step(x, y); });
  auto many = compile([&](const Tensor& x, const Tensor& y) { return step.repeat(x, y); });
  const Tensor x = ramp({3, 8, 256}, 1e-4F), y = ramp({3, 8, 4});
  const std::int64_t weights = 4 * net.parameter_count();
  const MemoryReport of_one = one.memory(x.select(0, 0).clone(), y.select(0, 0).clone()),
                     of_many = many.memory(x, y);
  EXPECT_GE(of_many.captured, 3 * weights);
  EXPECT_LE(of_many.loops, of_one.intermediate + weights / 4);
  const auto before = net.first.weight.to_vector<float>();
  const auto losses = many(x, y).to_vector<float>();
  EXPECT_NE(net.first.weight.to_vector<float>(), before);
  EXPECT_EQ(losses.size(), 3U);
}

TEST(TrainingStep, SettingsChangeWithoutCompiling) {
  Training calls, repeated;
  auto one = calls.step(2), many = repeated.step(2);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return one(x, y); });
  auto epoch = compile([&](const Tensor& x, const Tensor& y) { return many.repeat(x, y); });
  const Tensor x = inputs(3), y = targets(3);
  for (int round = 0; round < 4; ++round) {
    for (Training* each : {&calls, &repeated}) {
      each->optimizer->set("weight_decay", 0.05 * round);
      each->optimizer->set("beta1", 0.9 - 0.1 * round);
      each->limit.set(1.0 / (round + 1));
      each->average->set_decay(0.9 - 0.2 * round);
    }
    epoch(x, y);
    for (std::int64_t i = 0; i < 3; ++i) step(x.select(0, i).clone(), y.select(0, i).clone());
  }
  expect_same(calls, repeated, 0);
  for (const CompiledFunction* function : {static_cast<const CompiledFunction*>(&step),
                                           static_cast<const CompiledFunction*>(&epoch)}) {
    EXPECT_EQ(function->report().size(), 1U);
    EXPECT_TRUE(function->recompilations().empty());
  }
}

// Some rows have targets whose scaled gradients are infinite, although those of the loss are not.
Tensor far_targets(std::int64_t steps) {
  std::vector<float> all = targets(steps).to_vector<float>();
  for (std::size_t k = 0; k < all.size(); k += 12) all[k] = 1e25F;
  return Tensor::from(all, {steps, 4, 1});
}

// A step of the parts, in which the host decides, as a program of PyTorch does.
bool step_by_the_host(Training& training, const Tensor& x, const Tensor& y) {
  auto loss_of = [&](const Tensor& a, const Tensor& b) { return training.loss(a, b); };
  std::vector<NamedTensors> parts;
  for (std::int64_t part = 0; part < 2; ++part) {
    auto scaled_of = [&](const Tensor& a, const Tensor& b) {
      return training.scaler.scale(loss_of(a, b) / 2.0);
    };
    parts.push_back(value_and_grad(training, scaled_of)(x.slice(0, 2 * part, 2 * part + 2),
                                                        y.slice(0, 2 * part, 2 * part + 2))
                        .second);
  }
  for (auto& [name, tensor] : parts[0]) tensor = tensor + parts[1].at(name);
  auto [gradients, is_infinite] = training.scaler.unscale(parts[0]);
  const bool is_left_out = is_infinite.item<bool>();
  if (!is_left_out) {
    training.optimizer->step(clip_by_global_norm(gradients, training.limit).gradients);
    training.scheduler->step();
    training.average->update();
  }
  training.scaler.update();
  return is_left_out;
}

TEST(TrainingStep, ByInfiniteScaledGradientsChangesTheScaleAlone) {
  Training by_host, calls, repeated;
  auto one = calls.step(2, true), many = repeated.step(2, true);
  auto step =
      compile([&](const Tensor& x, const Tensor& y) { return one(x, y); }, {.fullgraph = true});
  auto epoch = compile([&](const Tensor& x, const Tensor& y) { return many.repeat(x, y); },
                       {.fullgraph = true});
  const Tensor x = inputs(8), y = far_targets(8);
  std::int64_t left_out = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    left_out += step_by_the_host(by_host, x.select(0, i), y.select(0, i));
    step(x.select(0, i).clone(), y.select(0, i).clone());
    ASSERT_EQ(calls.scaler.scale().item<double>(), by_host.scaler.scale().item<double>()) << i;
  }
  epoch(x, y);
  EXPECT_EQ(left_out, 3);  // of rows 0, 12 and 24, four in a step
  expect_same(calls, repeated, 0);
  // AdamW divides by small numbers, by which other rounding grows: code of a GPU is 2.7e-5 apart.
  // A step that is not left out moves weights by the rate, 0.01.
  expect_same(by_host, calls, default_device().is_emulated() ? 1e-4 : 2e-5);
  EXPECT_EQ(calls.optimizer->steps().item<double>(), 5);
  EXPECT_EQ(calls.scheduler->steps().item<double>(), 5);
  EXPECT_EQ(calls.average->updates().item<std::int64_t>(), 5);
  EXPECT_EQ(step.report().size(), 1U);
}

TEST(TrainingStep, MisuseIsNamed) {
  Training training;
  auto step = training.step(3);
  EXPECT_THAT(error_of([&] {
                step(ramp({8, 6}), ramp({8, 1}));
              }),
              HasSubstr("[accumulate] a batch is f32 8x6 (at "));
  auto none = training.step(0);
  EXPECT_THAT(error_of([&] {
                none(ramp({8, 6}), ramp({8, 1}));
              }),
              HasSubstr("[accumulate] 0 micro-batches"));
  EXPECT_THAT(error_of([&] {
                step.repeat(ramp({2, 6, 6}), ramp({3, 6, 1}));
              }),
              HasSubstr("[scan] a sliced tensor is 3x6x1"));
  EXPECT_THAT(error_of([&] { training.scheduler->step_unless(ones({})); }),
              HasSubstr("[scheduler] the condition of a step is f32 scalar (at "));
  EXPECT_THAT(error_of([&] { training.average->update_unless({}); }),
              HasSubstr("[average] the condition of an update is undefined (at "));
}

}  // namespace
}  // namespace tilewright::training_step_test
