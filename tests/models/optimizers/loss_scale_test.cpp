// Loss scaling: PyTorch's numbers, steps that are left out, and states.
#include "models/optimizers/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/products.h"
#include "graph/tensor/precision/autocast.h"
#include "models/optimizers/clipping.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "tests/errors.h"
#include "tests/models/optimizers/networks.h"

namespace tilewright::loss_scale_test {
namespace {

// 14 steps of torch.amp.GradScaler with init_scale 1024 and growth_interval 3 (PyTorch 2.15): the
// scale, the count of steps, the parameter and the loss. Gradients of steps 2 and 7 have an
// infinity, that of step 8 a NaN.
struct Row {
  double scale, tracker, w[3], loss;
};
constexpr Row pytorch[] = {
    {1024, 1, {1.09000003, -0.395000011, 0.147500008}, 0.78125},
    {1024, 2, {1.17853129, -0.291078448, 0.0459438786}, 0.499615639},
    {512, 0, {1.17853129, -0.291078448, 0.0459438786}, 0.287856221},
    {512, 1, {1.26404476, -0.188293815, -0.0547671467}, 0.287856221},
    {512, 2, {1.33948207, -0.0869004875, -0.154761493}, 0.143725038},
    {1024, 0, {1.37252522, 0.010566704, -0.253846407}, 0.063316673},
    {1024, 1, {1.35668457, 0.0927150249, -0.346996784}, 0.032028906},
    {512, 0, {1.35668457, 0.0927150249, -0.346996784}, 0.0282616206},
    {256, 0, {1.35668457, 0.0927150249, -0.346996784}, 0.0282616206},
    {256, 1, {1.31119573, 0.149085581, -0.426176429}, 0.0282616206},
    {256, 2, {1.24911857, 0.177139953, -0.483899951}, 0.0358118564},
    {512, 0, {1.17855453, 0.181486726, -0.517379463}, 0.0421071984},
    {512, 1, {1.10639822, 0.168856084, -0.528778315}, 0.0421175621},
    {512, 2, {1.04039931, 0.145575494, -0.522531569}, 0.038160868},
};

struct Training {
  Tensor w = Tensor::from(std::vector<float>{1, -0.5F, 0.25F}, {3}), x = inputs();
  AdamW optimizer{std::vector<NamedParameter>{{"w", w}}, {.lr = 0.1, .weight_decay = 0.1}};
  GradScaler scaler{{.init_scale = 1024, .growth_interval = 3}};

  static Tensor inputs() {
    return Tensor::from(std::vector<float>{0.5F, 1, -1, 1, 0.25F, 0.5F}, {2, 3});
  }
  // `added` to the gradient of the scaled loss.
  Tensor step(const Tensor& added) {
    auto loss_of = [&](const Tensor& of) {
      const Tensor apart = mv(x, of) - 1.0, loss = mean(apart * apart);
      return std::pair{scaler.scale(loss), loss};
    };
    auto [losses, gradient] = value_and_grad(loss_of)(w);
    auto [gradients, is_infinite] = scaler.unscale(NamedTensors{{"w", gradient + added}});
    optimizer.step_unless(is_infinite, clip_by_global_norm(gradients, 0.5).gradients);
    scaler.update();
    return losses.second;
  }
};

Tensor added_in(int step) {
  const float middle = step == 8                ? std::numeric_limits<float>::quiet_NaN()
                       : step == 2 || step == 7 ? std::numeric_limits<float>::infinity()
                                                : 0.0F;
  return Tensor::from(std::vector<float>{0, middle, 0}, {3});
}

void expect_row(const Training& training, double loss, const Row& row) {
  EXPECT_EQ(training.scaler.scale().item<double>(), row.scale);
  EXPECT_EQ(training.scaler.growth_tracker().to(f64).item<double>(), row.tracker);
  EXPECT_NEAR(loss, row.loss, 2e-6);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(training.w.to_vector<float>()[static_cast<std::size_t>(i)], row.w[i], 2e-6);
}

TEST(LossScale, NumbersArePyTorchs) {
  Training at_once, inside;
  auto compiled =
      compile([&](const Tensor& added) { return inside.step(added); }, {.fullgraph = true});
  for (int k = 0; k < 14; ++k) {
    SCOPED_TRACE(k);
    expect_row(at_once, at_once.step(added_in(k)).item<double>(), pytorch[k]);
    expect_row(inside, compiled(added_in(k)).item<double>(), pytorch[k]);
  }
  EXPECT_EQ(compiled.report().size(), 1U);
  EXPECT_EQ(inside.optimizer.steps().item<double>(), 11);
}

TEST(LossScale, GoesOnFromASavedState) {
  Training whole, second;
  for (int k = 0; k < 6; ++k) whole.step(added_in(k));
  second.w.copy_from(whole.w);
  second.optimizer.load(Weights::of(whole.optimizer.state()));
  second.scaler.load(Weights::of(whole.scaler.state()));
  for (int k = 6; k < 14; ++k) {
    EXPECT_EQ(whole.step(added_in(k)).item<double>(), second.step(added_in(k)).item<double>());
    EXPECT_EQ(whole.scaler.scale().item<double>(), second.scaler.scale().item<double>());
  }
  NamedTensors state = whole.scaler.state();
  state.erase("scale");
  state.emplace("skale", ones({}));
  expect_contains(error_of([&] { second.scaler.load(Weights::of(state)); }),
                  "[grad_scaler] the state does not fit: without scale, unexpected skale (at ");
}

TEST(LossScale, TheScaleGrowsToNoInfinity) {
  GradScaler scaler({.init_scale = 0x1p127, .growth_interval = 1});
  scaler.update();
  EXPECT_EQ(scaler.scale().item<double>(), 0x1p127);
  EXPECT_EQ(scaler.growth_tracker().to(f64).item<double>(), 0);
}

TEST(LossScale, OptimizersThatShareAScaleLeaveOutTheirOwnSteps) {
  Tensor a = ones({2}), b = ones({2});
  Sgd first(std::vector<NamedParameter>{{"a", a}}, {.lr = 1, .momentum = 0.5}),
      second(std::vector<NamedParameter>{{"b", b}}, {.lr = 1});
  GradScaler scaler({.init_scale = 2});
  const Tensor infinite = full({2}, std::numeric_limits<double>::infinity(), f16).clone();
  scaler.step(first, {{"a", infinite}});
  scaler.step(second, {{"b", ones({2}, f16)}});
  scaler.update();
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>({1, 1}));
  EXPECT_EQ(b.to_vector<float>(), std::vector<float>({0.5F, 0.5F}));
  EXPECT_EQ(first.steps().item<double>(), 0);
  EXPECT_EQ(scaler.scale().item<double>(), 1);
  scaler.step(first, {{"a", ones({2}, f16)}});
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>({0, 0}));
}

// Gradients of f16 that are 0 without a scale.
TEST(LossScale, KeepsSmallGradientsOfF16) {
  GradScaler scaler;
  const Tensor x = full({4}, 1e-3, f32).clone();
  auto gradient_of = [&](bool is_scaled) {
    auto loss_of = [&](const Tensor& w) {
      const Tensor loss = sum(matmul(w.unsqueeze(0), x.unsqueeze(1))).to(f32) * 1e-6;
      return is_scaled ? scaler.scale(loss) : loss;
    };
    return grad(autocast(loss_of, f16))(ones({4}));
  };
  EXPECT_EQ(gradient_of(false).to_vector<float>(), std::vector<float>(4, 0.0F));
  const auto [gradients, is_infinite] = scaler.unscale(std::vector{gradient_of(true)});
  EXPECT_FALSE(is_infinite.item<bool>());
  for (float element : gradients[0].to_vector<float>()) EXPECT_NEAR(element, 1e-9, 2e-12);
}

TEST(LossScale, OptionsAreChecked) {
  expect_contains(error_of([] { GradScaler({.init_scale = 0}); }), "the first scale is 0 (at ");
  expect_contains(error_of([] { GradScaler({.growth_factor = 1}); }), "of growth is 1 (at ");
  expect_contains(error_of([] { GradScaler({.backoff_factor = 1}); }), "gradients is 1 (at ");
  expect_contains(error_of([] { GradScaler({.growth_interval = 0}); }), "after 0 steps (at ");
  SmallNetwork net;
  Sgd optimizer(net);
  expect_contains(error_of([&] { optimizer.step_unless(ones({}), NamedTensors{}); }),
                  "[SGD] there is no gradient of");
  expect_contains(error_of([&] { optimizer.step_unless(ones({}), std::vector<Tensor>{}); }),
                  "[SGD] the condition of a step is f32");
}

}  // namespace
}  // namespace tilewright::loss_scale_test
