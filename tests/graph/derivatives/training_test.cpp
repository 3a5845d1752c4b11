// Whole steps of training as one compiled function: the loss falls as PyTorch's does, whose numbers
// `tools/gradient_cases.py --training` prints.
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/reducing/element_losses.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::training_test {
namespace {

using testing_gradients::tensor_of;
using testing_gradients::Tensors;

constexpr int steps = 200;

Tensors initial_parameters() {
  const Shape shapes[] = {{8, 3}, {8}, {1, 8}, {1}};
  Tensors parameters;
  for (std::size_t k = 0; k < 4; ++k) parameters.push_back(tensor_of({shapes[k], -0.5, 0.5}, k));
  return parameters;
}
Tensor inputs() { return tensor_of({{32, 3}, -1, 1}, 50); }
Tensor targets() {
  const Tensor x = inputs();
  return sin(x.slice(1, 0, 1) * x.slice(1, 1, 2)) + x.slice(1, 2, 3);
}

Tensor loss_of(const Tensors& p, const Tensor& x, const Tensor& y) {
  return mse_loss(linear(tanh(linear(x, p[0], p[1])), p[2], p[3]), y);
}

// The loss before the first step and after the last one.
using Update = std::function<void(Tensors& parameters, const Tensors& gradients)>;
std::pair<double, double> losses_of_training(const Update& update) {
  Tensors parameters = initial_parameters();
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        auto [loss, gradients] = value_and_grad(loss_of)(parameters, x, y);
        update(parameters, gradients);
        return loss;
      },
      {.fullgraph = true});
  const Tensor x = inputs(), y = targets();
  const double first = step(x, y).item<double>();
  for (int i = 1; i < steps; ++i) step(x, y);
  EXPECT_EQ(step.report().size(), 1U);
  return {first, loss_of(parameters, x, y).item<double>()};
}

TEST(Training, StepsOfGradientDescentFallToPyTorchsLoss) {
  auto [first, last] = losses_of_training([](Tensors& p, const Tensors& g) {
    for (std::size_t i = 0; i < p.size(); ++i) p[i].copy_from(p[i] - g[i] * 0.1);
  });
  EXPECT_NEAR(first, 0.3689399813281163, 1e-12);
  EXPECT_NEAR(last, 0.006497234713839475, 1e-10);
}

TEST(Training, StepsOfAdamFallToPyTorchsLoss) {
  Tensors means, squares;
  for (const Tensor& p : initial_parameters()) {
    means.push_back((p * 0).contiguous());
    squares.push_back((p * 0).contiguous());
  }
  Tensor decay1 = Tensor::from(std::vector<double>{1}, {}),
         decay2 = Tensor::from(std::vector<double>{1}, {});
  auto [first, last] = losses_of_training([&](Tensors& p, const Tensors& g) {
    decay1.copy_from(decay1 * 0.9);
    decay2.copy_from(decay2 * 0.999);
    for (std::size_t i = 0; i < p.size(); ++i) {
      means[i].copy_from(means[i] * 0.9 + g[i] * 0.1);
      squares[i].copy_from(squares[i] * 0.999 + square(g[i]) * (1 - 0.999));
      const Tensor root = sqrt(squares[i] / (1 - decay2)) + 1e-8;
      p[i].copy_from(p[i] - means[i] / (1 - decay1) / root * 0.01);
    }
  });
  EXPECT_NEAR(first, 0.3689399813281163, 1e-12);
  EXPECT_NEAR(last, 0.0010850826751329322, 1e-9);
}

}  // namespace
}  // namespace tilewright::training_test
