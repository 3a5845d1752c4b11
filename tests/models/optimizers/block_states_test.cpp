// States of 8 bits by blocks: each number is the nearest of its table, and training goes on as with
// states of f32.
#include "models/optimizers/block_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/compile/compile.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "tests/models/optimizers/networks.h"

namespace tilewright::block_states_test {
namespace {

Tensor spread_numbers(std::int64_t count, bool has_signs) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const double wave = std::sin(0.7 * static_cast<double>(i + 1));
    const double number = wave * std::pow(10.0, -static_cast<double>(i % 9));
    all.push_back(static_cast<float>(has_signs ? number : std::abs(number)));
  }
  return Tensor::from(all, {count});
}

TEST(BlockStates, TablesAscendFromTheirLeastToOne) {
  for (DType dtype : {i8, u8}) {
    const std::vector<float> table = detail::state_table(dtype);
    ASSERT_EQ(table.size(), 256U);
    EXPECT_TRUE(std::ranges::adjacent_find(table, std::greater_equal()) == table.end());
    EXPECT_EQ(table.back(), 1);
    EXPECT_EQ(std::ranges::count(table, 0.0F), 1);
    EXPECT_EQ(table.front() < 0, dtype == i8);
  }
}

// Three blocks, of which the last is a part; one of zeros.
TEST(BlockStates, HoldTheNearestNumberOfTheirTable) {
  for (DType dtype : {i8, u8}) {
    const Tensor values = cat({spread_numbers(256, dtype == i8), zeros({256}),
                               spread_numbers(100, dtype == i8) * 1e-4},
                              0)
                              .reshape({4, 153});
    const std::vector<float> table = detail::state_table(dtype), given = values.to_vector<float>();
    const detail::BlockCodes state = detail::encode_state(values, dtype);
    const std::vector<float> got = detail::decode_state(state).to_vector<float>(),
                             greatest = state.greatest.to_vector<float>();
    ASSERT_EQ(greatest.size(), 3U);
    EXPECT_EQ(greatest[1], 0);
    for (std::size_t i = 0; i < given.size(); ++i) {
      float nearest = INFINITY;
      for (float entry : table)
        nearest = std::min(nearest, std::abs(given[i] - entry * greatest[i / 256]));
      ASSERT_NEAR(std::abs(got[i] - given[i]), nearest, 1e-6F * greatest[i / 256]) << i;
    }
    const Tensor zero = detail::decode_state(detail::zero_state({5, 60}, dtype));
    EXPECT_EQ(amax(abs(zero)).item<float>(), 0);
  }
}

struct WideNetwork : Module {
  Linear first{64, 96}, second{96, 4};
  WideNetwork() {
    register_module("first", first);
    register_module("second", second);
    first.weight.copy_from(spread_numbers(64 * 96, true).reshape({96, 64}));
    first.bias.copy_from(zeros({96}));
    second.weight.copy_from(ramp({4, 96}, 1e-3F));
    second.bias.copy_from(zeros({4}));
  }
  Tensor loss(const Tensor& x, const Tensor& y) const {
    return mse_loss(second(tanh(first(x))), y);
  }
};

template <typename Optimizer>
std::vector<float> losses(Optimizer& optimizer, WideNetwork& net, int steps) {
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        auto loss_of = [&](const Tensor& a, const Tensor& b) { return net.loss(a, b); };
        auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
        optimizer.step(gradients);
        return loss;
      },
      {.fullgraph = true});
  std::vector<float> all;
  for (int i = 0; i < steps; ++i)
    all.push_back(step(ramp({16, 64}, 1e-3F), ramp({16, 4}, 0.02F)).template item<float>());
  return all;
}

TEST(BlockStates, TrainAsStatesOfF32) {
  WideNetwork first, second, third, fourth;
  AdamW adam(first, {.lr = 3e-3}), coded_adam(second, {.lr = 3e-3, .precision = {.state = i8}});
  Sgd sgd(third, {.lr = 0.02, .momentum = 0.9}),
      coded_sgd(fourth, {.lr = 0.02, .momentum = 0.9, .precision = {.state = i8}});
  const NamedTensors states = coded_adam.state();
  EXPECT_EQ(states.at("state.first.weight.exp_avg").dtype(), i8);
  EXPECT_EQ(states.at("state.first.weight.exp_avg_sq").dtype(), u8);
  EXPECT_EQ(states.at("state.first.weight.exp_avg_absmax").shape(), Shape{24});
  EXPECT_EQ(states.at("state.first.bias.exp_avg").dtype(), f32);
  auto expect_alike = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    EXPECT_LT(wanted.back(), 0.5F * wanted.front());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], 0.02F * wanted.front()) << i;
  };
  expect_alike(losses(coded_adam, second, 60), losses(adam, first, 60));
  expect_alike(losses(coded_sgd, fourth, 60), losses(sgd, third, 60));
}

TEST(BlockStates, ARunGoesOnFromItsState) {
  WideNetwork whole, second;
  AdamW of_whole(whole, {.precision = {.state = i8}}),
      of_second(second, {.precision = {.state = i8}});
  losses(of_whole, whole, 10);
  second.load(Weights::of(whole.state()));
  of_second.load(Weights::of(of_whole.state()));
  EXPECT_EQ(losses(of_whole, whole, 10), losses(of_second, second, 10));
}

}  // namespace
}  // namespace tilewright::block_states_test
