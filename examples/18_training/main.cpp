// Lesson 18, training: a network learns which of two spirals a point lies on. You learn to ask for
// the gradients of a loss by the parameters of a module, to update these by AdamW at a rate that a
// schedule lowers, and to compile a whole step, forward, backward, update and schedule, into one
// plan that is replayed.
//
// Gradients are a function of a function, as in torch.func: nothing is recorded behind your back.
// The step writes parameters and moments in place, so that calls need no memory of their own.
// Rates, decays and the limit of clipping are tensors, so that changing one compiles nothing.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/training
#include <tilewright/tilewright.h>
#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

namespace tw = tilewright;

namespace {

struct Network : tw::Module {
  tw::Linear first{2, 32}, second{32, 32}, third{32, 2};
  Network() {
    register_module("first", first);
    register_module("second", second);
    register_module("third", third);
  }
  tw::Tensor forward(const tw::Tensor& x) const { return third(tanh(second(tanh(first(x))))); }
};

// Points on two spirals, and which one each is on.
std::pair<tw::Tensor, tw::Tensor> spirals(int count) {
  std::vector<float> points;
  std::vector<std::int64_t> classes;
  for (int i = 0; i < count; ++i)
    for (int side = 0; side < 2; ++side) {
      const double far = 0.2 + 0.8 * i / count;
      const double angle = 2 * std::numbers::pi * far + std::numbers::pi * side;
      points.push_back(static_cast<float>(far * std::cos(angle)));
      points.push_back(static_cast<float>(far * std::sin(angle)));
      classes.push_back(side);
    }
  return {tw::Tensor::from(points, {2 * count, 2}), tw::Tensor::from(classes, {2 * count})};
}

}  // namespace

int main() {
  tw::manual_seed(1);
  Network network;
  const auto [points, classes] = spirals(100);
  // Biases are not drawn towards 0.
  tw::AdamW optimizer(network, {.lr = 0.01, .weight_decay = 0.01},
                      {{"*.bias", [](tw::AdamWOptions& options) { options.weight_decay = 0; }}});
  constexpr int steps = 300;
  tw::LrScheduler scheduler(optimizer, tw::schedules::cosine_annealing({.t_max = steps}));
  tw::DynamicScalar limit(1.0);

  auto loss_of = [&](const tw::Tensor& x, const tw::Tensor& y) {
    return cross_entropy(network.forward(x), y);
  };
  auto step = tw::compile(
      [&](const tw::Tensor& x, const tw::Tensor& y) {
        auto [loss, gradients] = tw::value_and_grad(network, loss_of)(x, y);
        optimizer.step(clip_by_global_norm(gradients, limit).gradients);
        scheduler.step();
        return loss;
      },
      {.fullgraph = true});

  const float first = step(points, classes).item<float>();
  float last = first;
  for (int i = 1; i < steps; ++i) {
    if (i == steps / 2) limit.set(0.5);
    last = step(points, classes).item<float>();
  }
  const tw::Tensor guess = argmax(network.forward(points), 1);
  const double right = mean((guess == classes).to(tw::f32)).item<float>();
  std::cout << "the loss falls: " << (last < 0.1F * first ? "yes" : "no") << '\n'
            << "points told apart: " << (right > 0.97 ? "nearly all" : "too few") << '\n'
            << "plans: " << step.report().size() << '\n'
            << "the rate is 0 at last: " << (optimizer.value("lr") < 1e-12 ? "yes" : "no") << '\n';
  std::cerr << "loss " << first << " to " << last << ", " << right * 100 << "% right\n";

  // The same gradient by hand, of the last layer's bias: the mean of probabilities less truth.
  auto [value, gradients] = tw::value_and_grad(network, loss_of)(points, classes);
  const tw::Tensor truth = one_hot(classes, 2).to(tw::f32);
  const tw::Tensor by_hand = mean(softmax(network.forward(points), 1) - truth, {0});
  const float apart = max(abs(gradients.at("third.bias") - by_hand)).item<float>();
  std::cout << "as by hand: " << (apart < 1e-6F ? "yes" : "no") << '\n';
  return last < 0.1F * first && right > 0.97 && apart < 1e-6F ? 0 : 1;
}
