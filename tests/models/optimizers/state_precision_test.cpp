// States and parameters of 16 bits: small updates are not lost, and a run goes on from its state.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/tensor/precision/autocast.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/lion.h"
#include "models/optimizers/rules/sgd.h"
#include "tests/errors.h"
#include "tests/models/optimizers/networks.h"

namespace tilewright::state_precision_test {
namespace {

constexpr StatePrecision bf16_throughout = {.state = bf16, .master = false, .seed = 3};

template <typename Optimizer>
double loss_after(Optimizer& optimizer, SmallNetwork& net, int steps) {
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        auto [loss, gradients] = net.gradients(x, y);
        optimizer.step(gradients);
        return loss;
      },
      {.fullgraph = true});
  double last = 0;
  for (int i = 0; i < steps; ++i)
    last = step(ramp({16, 6}).to(net.first.weight.dtype()), ramp({16, 1}, 0.05F))
               .template item<double>();
  return last;
}

TEST(StatePrecision, DtypesOfStates) {
  SmallNetwork net;
  net.to(bf16);
  AdamW with_master(net, {.precision = {.state = bf16}}),
      without(net, {.precision = bf16_throughout}), usual(net);
  const NamedTensors first = with_master.state(), second = without.state(), third = usual.state();
  EXPECT_EQ(first.at("state.first.weight.exp_avg").dtype(), bf16);
  EXPECT_EQ(first.at("state.first.weight.master").dtype(), f32);
  EXPECT_EQ(second.at("state.first.weight.exp_avg_sq").dtype(), bf16);
  EXPECT_FALSE(second.contains("state.first.weight.master"));
  EXPECT_TRUE(second.contains("rounding.offset"));
  EXPECT_EQ(third.at("state.first.weight.exp_avg").dtype(), f32);
  EXPECT_FALSE(third.contains("rounding.offset"));
}

// The expected loss is that of the same run in f32; bf16 has two to three digits.
TEST(StatePrecision, TrainsAlikeInBf16) {
  SmallNetwork in_f32, in_bf16, moments;
  in_bf16.to(bf16);
  AdamW usual(in_f32, {.lr = 2e-3}), narrow(in_bf16, {.lr = 2e-3, .precision = bf16_throughout}),
      of_moments(moments, {.lr = 2e-3, .precision = {.state = bf16}});
  const double wanted = loss_after(usual, in_f32, 300);
  EXPECT_LT(wanted, 0.07);
  EXPECT_NEAR(loss_after(of_moments, moments, 300), wanted, 2e-3);
  EXPECT_NEAR(loss_after(narrow, in_bf16, 300), wanted, 6e-3);
}

// Each step is a hundredth of what rounding to nearest keeps.
TEST(StatePrecision, UpdatesBelowARoundingAddUp) {
  Tensor w = ones({2048}, bf16), nearest = ones({2048}, bf16);
  Sgd rounded(std::vector<NamedParameter>{{"w", w}}, {.lr = 1, .precision = {.master = false}});
  const Tensor gradient = full({2048}, 4e-5, f32).clone();
  for (int i = 0; i < 200; ++i) {
    rounded.step(std::vector{gradient});
    nearest.copy_from((nearest.to(f32) - gradient).to(bf16));
  }
  EXPECT_NEAR(mean(w.to(f32)).item<double>(), 1 - 200 * 4e-5, 5e-4);
  EXPECT_EQ(mean(nearest.to(f32)).item<double>(), 1.0);
}

TEST(StatePrecision, ARunGoesOnFromItsState) {
  SmallNetwork whole, second;
  whole.to(bf16);
  second.to(bf16);
  Lion of_whole(whole, {.precision = bf16_throughout}),
      of_second(second, {.precision = bf16_throughout});
  loss_after(of_whole, whole, 20);
  second.load(Weights::of(whole.state()));
  of_second.load(Weights::of(of_whole.state()));
  EXPECT_EQ(loss_after(of_whole, whole, 20), loss_after(of_second, second, 20));
  EXPECT_EQ(whole.first.weight.to(f32).to_vector<float>(),
            second.first.weight.to(f32).to_vector<float>());
}

TEST(StatePrecision, StatesAreFloats) {
  SmallNetwork net;
  expect_contains(error_of([&] { AdamW(net, {.precision = {.state = i32}}); }),
                  "[AdamW] states are to be of i32 (at ");
}

}  // namespace
}  // namespace tilewright::state_precision_test
