// Gradients of modules by the names of their parameters, and training with them.
#include "models/layers/gradients.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/reducing/element_losses.h"
#include "models/layers/layers.h"
#include "models/layers/norms.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::gradients_test {
namespace {

struct Net : Module {
  Linear first{6, 5}, second{5, 1};
  Net() {
    register_module("first", first);
    register_module("second", second);
    first.weight.copy_from(ramp({5, 6}, 0.02F));
    second.weight.copy_from(ramp({1, 5}, 0.1F));
  }
  Tensor forward(const Tensor& x) const { return second(tanh(first(x))); }
};

// The same by hand, as a function of its parameters.
Tensor loss_of(const NamedTensors& p, const Tensor& x, const Tensor& y) {
  const Tensor hidden = tanh(linear(x, p.at("first.weight"), p.at("first.bias")));
  return mse_loss(linear(hidden, p.at("second.weight"), p.at("second.bias")), y);
}

TEST(ModuleGradients, AreThoseOfTheParametersByName) {
  Net net;
  const Tensor x = ramp({4, 6}), y = ramp({4, 1}, 0.2F);
  auto loss = [&](const Tensor& a, const Tensor& b) { return mse_loss(net.forward(a), b); };
  auto wanted = value_and_grad(loss_of)(differentiable_parameters(net), x, y);
  auto step = [&](const Tensor& a, const Tensor& b) { return value_and_grad(net, loss)(a, b); };
  auto compiled = compile(step);
  for (const auto& [value, gradients] : {step(x, y), compiled(x, y)}) {
    expect_near(value, wanted.first);
    ASSERT_EQ(gradients.size(), 4U);
    for (const auto& [name, gradient] : gradients) expect_near(gradient, wanted.second.at(name));
  }
}

// The table of an embedding that is the weight of the last layer too, as in language models.
TEST(ModuleGradients, OfATensorThatTwoLayersShareAreSums) {
  struct Tied : Module {
    Embedding table{5, 3};
    Linear out{table.weight};
    Tied() {
      register_module("table", table);
      table.weight.copy_from(ramp({5, 3}, 0.1F));
    }
  } net;
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{1, 3, 1}, {3});
  auto loss = [&] { return mean(square(net.out(net.table(ids)))); };
  auto apart = [&](const Tensor& a, const Tensor& b) {
    return mean(square(linear(embedding(ids, a), b)));
  };
  auto [of_a, of_b] = grad<0, 1>(apart)(net.table.weight, net.table.weight);
  auto [value, gradients] = value_and_grad(net, loss)();
  ASSERT_EQ(gradients.size(), 1U);
  expect_near(gradients.at("table.weight"), of_a + of_b);
}

// A view of a parameter that the loss takes, and one within a loop of it.
TEST(ModuleGradients, ReachParametersThroughViews) {
  Linear layer(3, 3, false);
  layer.weight.copy_from(ramp({3, 3}, 0.1F));
  const Tensor x = ramp({4, 2, 3});
  auto loss = [&] {
    auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
      return {{tanh(matmul(state[0] + at[0], layer.weight.transpose(0, 1)))}, {}};
    };
    return sum(
        scan(turn, {x.select(0, 0) * layer.weight.reshape({9}).slice(0, 0, 1)}, {x}).first[0]);
  };
  auto by_weight = [&](const Tensor& w) {
    Tensor state = x.select(0, 0) * w.reshape({9}).slice(0, 0, 1);
    for (int i = 0; i < 4; ++i) state = tanh(linear(state + x.select(0, i), w));
    return sum(state);
  };
  expect_near(value_and_grad(layer, loss)().second.at("weight"), grad(by_weight)(layer.weight));
}

// A layer that is used twice has the sum of both gradients.
TEST(ModuleGradients, OfALayerThatIsUsedTwiceAreSums) {
  Linear layer(3, 3, false);
  layer.weight.copy_from(ramp({3, 3}, 0.1F));
  const Tensor x = ramp({2, 3}), w = layer.weight;
  auto twice = [&](const Tensor& t) { return sum(layer(layer(t))); };
  auto [value, gradients] = value_and_grad(layer, twice)(x);
  auto apart = [&](const Tensor& a, const Tensor& b) { return sum(linear(linear(x, a), b)); };
  auto [of_a, of_b] = grad<0, 1>(apart)(w, w);
  expect_near(gradients.at("weight"), of_a + of_b);
}

TEST(ModuleGradients, StepsLowerTheLossAndArePlannedOnce) {
  manual_seed(1);
  Net net;
  const Tensor x = ramp({4, 6}), y = ramp({4, 1}, 0.2F);
  auto loss = [&](const Tensor& a, const Tensor& b) { return mse_loss(net.forward(a), b); };
  auto step = compile(
      [&](const Tensor& a, const Tensor& b) {
        auto [value, gradients] = value_and_grad(net, loss)(a, b);
        for (NamedParameter& parameter : net.named_parameters())
          parameter.tensor.copy_from(parameter.tensor - gradients.at(parameter.name) * 0.1);
        return value;
      },
      {.fullgraph = true});
  const float first = step(x, y).item<float>();
  float last = first;
  for (int i = 0; i < 400; ++i) last = step(x, y).item<float>();
  EXPECT_LT(last, 0.1F * first);
  EXPECT_TRUE(step.recompilations().empty());
}

// PyTorch refuses the same: "a leaf Variable that requires grad is being used in an in-place
// operation".
TEST(ModuleGradients, AWriteToAParameterInTheLossIsAnError) {
  Net net;
  const Tensor x = ramp({4, 6});
  const std::vector<float> before = net.second.weight.to_vector<float>();
  auto writes = [&](const Tensor& a) {
    net.second.weight.copy_from(net.second.weight * 0.5);
    return sum(net.forward(a));
  };
  const std::string said = error_of([&] { value_and_grad(net, writes)(x); });
  EXPECT_NE(said.find("[value_and_grad] the function writes a parameter of 1x5 in place (at"),
            std::string::npos)
      << said;
  EXPECT_EQ(net.second.weight.to_vector<float>(), before);
}

}  // namespace
}  // namespace tilewright::gradients_test
