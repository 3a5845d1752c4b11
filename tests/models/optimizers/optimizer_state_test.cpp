// States of optimizers and schedulers as named tensors, in files, and going on from them.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/nadam.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "models/optimizers/schedules/plateau.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/models/optimizers/networks.h"
#include "tests/scratch_folder.h"

namespace tilewright::optimizer_state_test {
namespace {

// A network in training, by a compiled step that moves the rate too.
struct Training {
  SmallNetwork net;
  AdamW optimizer{net, {.lr = 0.01, .weight_decay = 0.1, .amsgrad = true}};
  LrScheduler scheduler{optimizer, schedules::cosine_annealing({.t_max = 60})};
  Compiled step = compile(
      [this](const Tensor& x, const Tensor& y) {
        auto [loss, gradients] = net.gradients(x, y);
        optimizer.step(gradients);
        scheduler.step();
        return loss;
      },
      {.fullgraph = true});

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(ramp({4, 6}), ramp({4, 1}, 0.2F));
  }
};

NamedTensors with_prefix(const std::string& prefix, const NamedTensors& tensors) {
  NamedTensors named;
  for (const auto& [name, tensor] : tensors) named.emplace(prefix + name, tensor);
  return named;
}

NamedTensors without_prefix(const std::string& prefix, const Safetensors& file) {
  NamedTensors named;
  for (const SafetensorsEntry& entry : file.entries())
    if (entry.name.starts_with(prefix))
      named.emplace(entry.name.substr(prefix.size()), file.tensor(entry.name));
  return named;
}

TEST(OptimizerState, ARunThatGoesOnFromAFileHasTheSameBits) {
  const ScratchFolder folder;
  const auto path = folder.path() / "run.safetensors";
  Training whole, second;
  whole.run(37);
  NamedTensors all = with_prefix("model.", whole.net.state());
  all.merge(with_prefix("optimizer.", whole.optimizer.state()));
  all.merge(with_prefix("scheduler.", whole.scheduler.state()));
  save_safetensors(path, all);
  whole.run(23);

  second.run(3);  // compiled, and somewhere else
  const Safetensors file = Safetensors::open(path);
  second.net.load(Weights::of(without_prefix("model.", file)));
  second.optimizer.load(Weights::of(without_prefix("optimizer.", file)));
  second.scheduler.load(Weights::of(without_prefix("scheduler.", file)));
  EXPECT_EQ(second.optimizer.steps().item<double>(), 37);
  second.run(23);
  for (const auto& [name, tensor] : whole.net.state())
    EXPECT_EQ(tensor.to_vector<float>(), second.net.state().at(name).to_vector<float>()) << name;
  EXPECT_EQ(whole.optimizer.value("lr"), second.optimizer.value("lr"));
  EXPECT_EQ(second.step.report().size(), 1U);
}

TEST(OptimizerState, HasPyTorchsNames) {
  SmallNetwork net;
  Adam optimizer(net, {.amsgrad = true});
  const NamedTensors state = optimizer.state();
  for (const char* name : {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    EXPECT_TRUE(state.contains(std::string("state.first.weight.") + name)) << name;
  for (const char* name : {"lr", "beta1", "beta2", "eps", "weight_decay"})
    EXPECT_TRUE(state.contains(std::string("param_groups.0.") + name)) << name;
  EXPECT_TRUE(state.contains("step"));
  EXPECT_EQ(state.size(), 4U * 4 + 5 + 1);
}

// SGD of PyTorch counts no steps: where there is a momentum, training has begun.
TEST(OptimizerState, ABufferOfPyTorchsIsGoneOnWith) {
  Tensor parameter = Tensor::from({1.F});
  Sgd optimizer({{"p", parameter}}, {.lr = 1, .momentum = 0.5, .dampening = 0.5});
  optimizer.load(Weights::of(NamedTensors{{"state.p.momentum_buffer", Tensor::from({2.F})}}));
  optimizer.step(std::vector<Tensor>{Tensor::from({1.F})});
  EXPECT_FLOAT_EQ(parameter.item<float>(), 1 - (2 * 0.5F + 0.5F));
}

TEST(OptimizerState, ThatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  Tensor a = ramp({3}), b = ramp({2});
  NAdam optimizer({{"a", a}, {"b", b}});
  optimizer.step(std::vector<Tensor>{ramp({3}), ramp({2})});
  NamedTensors state;
  for (const auto& [name, tensor] : optimizer.state()) state.emplace(name, tensor.clone());
  optimizer.step(std::vector<Tensor>{ramp({3}), ramp({2})});
  auto message = [&] { return error_of([&] { optimizer.load(Weights::of(state)); }); };

  const Tensor mean = state.at("state.a.exp_avg");
  state.erase("state.a.exp_avg");
  state["state.c.exp_avg"] = mean;
  state["state.b.exp_avg"] = mean;
  expect_contains(message(), "missing: state.a.exp_avg");
  expect_contains(message(), "unexpected: state.c.exp_avg");
  expect_contains(message(), "of another shape: state.b.exp_avg (3, here 2)");
  state.erase("state.c.exp_avg");
  state["state.a.exp_avg"] = mean;
  state["state.b.exp_avg"] = ramp({2});
  state["state.b.mu_product"] = Tensor::scalar(0.5);
  expect_contains(message(), "state.a.mu_product is ");
  EXPECT_EQ(optimizer.steps().item<double>(), 2);
  state["state.b.mu_product"] = state.at("state.a.mu_product");
  optimizer.load(Weights::of(state));
  EXPECT_EQ(optimizer.steps().item<double>(), 1);
}

TEST(OptimizerState, OfAPlateauGoesOn) {
  Tensor parameter = ramp({2});
  Sgd first({{"p", parameter}}, {.lr = 1}), second({{"p", parameter}}, {.lr = 1});
  const PlateauOptions options{.factor = 0.5, .patience = 2};
  ReduceLrOnPlateau whole(first, options), resumed(second, options);
  auto step = [](ReduceLrOnPlateau& plateau, double metric) {
    plateau.step(Tensor::scalar(metric));
  };
  for (double metric : {1.0, 1.5}) step(whole, metric);
  resumed.load(Weights::of(whole.state()));
  for (double metric : {1.5, 1.5}) {
    step(whole, metric);
    step(resumed, metric);
  }
  EXPECT_EQ(first.value("lr"), 0.5);
  EXPECT_EQ(second.value("lr"), 0.5);
  expect_contains(error_of([&] { resumed.load(Weights::of(first.state())); }),
                  "[plateau] the state does not fit");
}

}  // namespace
}  // namespace tilewright::optimizer_state_test
