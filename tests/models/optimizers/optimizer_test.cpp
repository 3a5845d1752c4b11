// Optimizers: groups, settings that change without compiling, steps at once and compiled, dtypes,
// and misuse.
#include "models/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "models/optimizers/clipping.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/muon.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "tests/errors.h"
#include "tests/models/optimizers/networks.h"

namespace tilewright::optimizer_test {
namespace {

const Tensor& inputs() {
  static const Tensor x = ramp({4, 6});
  return x;
}
const Tensor& targets() {
  static const Tensor y = ramp({4, 1}, 0.2F);
  return y;
}

std::vector<float> weights_of(SmallNetwork& net) { return net.first.weight.to_vector<float>(); }

// A parameter of one element that has the gradient 1.
double after_one_step(Optimizer& optimizer, Tensor& parameter) {
  optimizer.step(std::vector<Tensor>{Tensor::from({1.F})});
  return parameter.item<double>();
}

TEST(Optimizer, StepsAtOnceAndCompiledAreTheSame) {
  SmallNetwork at_once, compiled;
  AdamW first(at_once, {.lr = 0.01}), second(compiled, {.lr = 0.01});
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        auto [loss, gradients] = compiled.gradients(x, y);
        second.step(gradients);
        return loss;
      },
      {.fullgraph = true});
  for (int i = 0; i < 5; ++i) {
    first.step(at_once.gradients(inputs(), targets()).second);
    step(inputs(), targets());
  }
  expect_near(at_once.first.weight, compiled.first.weight);
  expect_near(at_once.second.bias, compiled.second.bias);
  EXPECT_EQ(second.steps().item<double>(), 5);
}

// Rates, betas, decay, the limit of clipping, and the number of the step.
TEST(Optimizer, SettingsChangeWithoutCompiling) {
  SmallNetwork net;
  AdamW optimizer(net, {.lr = 1e-3, .weight_decay = 0.1});
  LrScheduler scheduler(optimizer, schedules::one_cycle({.max_lr = 0.01, .total_steps = 1000}));
  DynamicScalar limit(1.0);
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        auto [loss, gradients] = net.gradients(x, y);
        optimizer.step(clip_by_global_norm(gradients, limit).gradients);
        scheduler.step();
        return loss;
      },
      {.fullgraph = true});
  step(inputs(), targets());
  const dsl::CompileStatistics before = dsl::compile_statistics();
  for (int i = 0; i < 20; ++i) {
    optimizer.set("weight_decay", 0.01 * i);
    optimizer.set("beta2", 0.9 + 0.001 * i);
    optimizer.set("eps", 1e-8 * i);
    if (i == 10) optimizer.set("lr", 0.5);
    limit.set(1.0 / (i + 1));
    step(inputs(), targets());
  }
  const dsl::CompileStatistics after = dsl::compile_statistics();
  EXPECT_EQ(after.compiled + after.loaded, before.compiled + before.loaded);
  EXPECT_EQ(step.report().size(), 1U);
  EXPECT_EQ(step.report()[0].captures, 1);
  EXPECT_TRUE(step.recompilations().empty());
}

TEST(Optimizer, FollowsASettingInTheNextStep) {
  Tensor parameter = Tensor::from({2.F});
  Sgd optimizer({{"p", parameter}}, {.lr = 0.5});
  EXPECT_FLOAT_EQ(after_one_step(optimizer, parameter), 1.5);
  optimizer.set("lr", 0.25);
  EXPECT_EQ(optimizer.value("lr"), 0.25);
  EXPECT_FLOAT_EQ(after_one_step(optimizer, parameter), 1.25);
  optimizer.set("weight_decay", 1);
  EXPECT_FLOAT_EQ(after_one_step(optimizer, parameter), 1.25 - 0.25 * (1 + 1.25));
}

TEST(Optimizer, GroupsAreChosenByPatternsAndFunctions) {
  SmallNetwork net;
  auto without_decay = [](AdamWOptions& options) { options.weight_decay = 0; };
  AdamW by_name(net, {.weight_decay = 0.3}, {{"*.bias", without_decay}});
  EXPECT_EQ(by_name.group_count(), 2U);
  EXPECT_EQ(by_name.value("weight_decay", 0), 0.3);
  EXPECT_EQ(by_name.value("weight_decay", 1), 0);
  auto is_vector = [](std::string_view, const Tensor& p) { return p.rank() < 2; };
  AdamW by_rank(net, {.weight_decay = 0.3}, {{is_vector, without_decay}});
  SmallNetwork other;
  AdamW of_other(other, {.weight_decay = 0.3}, {{{"first.bi?s", "second.bias"}, without_decay}});
  const NamedTensors gradients = net.gradients(inputs(), targets()).second;
  by_rank.step(gradients);
  of_other.step(gradients);
  expect_near(net.first.bias, other.first.bias);
  expect_near(net.first.weight, other.first.weight);
}

TEST(Optimizer, TheFirstGroupThatFitsHasAParameter) {
  Tensor a = Tensor::from({1.F}), b = Tensor::from({1.F}), c = Tensor::from({1.F});
  auto at_rate = [](double lr) { return [lr](SgdOptions& options) { options.lr = lr; }; };
  Sgd optimizer({{"x.a", a}, {"x.b", b}, {"c", c}}, {.lr = 0.5},
                {{"*.a", at_rate(0.25)}, {"x.*", at_rate(0.125)}});
  optimizer.step(std::vector<Tensor>(3, Tensor::from({1.F})));
  EXPECT_EQ(a.item<float>(), 0.75F);
  EXPECT_EQ(b.item<float>(), 0.875F);
  EXPECT_EQ(c.item<float>(), 0.5F);
}

// Without a copy in f32 none of these steps would change a parameter of 16 bits.
TEST(Optimizer, SmallStepsOfParametersOf16BitsAddUp) {
  Tensor parameter = Tensor::from({1.F}).to(bf16).clone();
  Sgd optimizer({{"p", parameter}}, {.lr = 1e-4});
  const std::vector<Tensor> gradient = {Tensor::from({1.F}).to(bf16)};
  for (int i = 0; i < 1000; ++i) optimizer.step(gradient);
  EXPECT_NEAR(parameter.item<float>(), 0.9F, 0.004F);
  EXPECT_NEAR(optimizer.state().at("state.p.master").item<float>(), 0.9F, 1e-4F);
  parameter.copy_from(Tensor::from({3.F}).to(bf16));  // the copy follows
  optimizer.step(gradient);
  EXPECT_NEAR(optimizer.state().at("state.p.master").item<float>(), 3 - 1e-4F, 1e-6F);
}

TEST(Optimizer, StatesOfParametersOf16BitsAreF32) {
  SmallNetwork net;
  net.to(bf16);
  AdamW optimizer(net);
  for (const auto& [name, tensor] : optimizer.state())
    if (name.starts_with("state.") && !name.ends_with(".step")) {
      EXPECT_EQ(tensor.dtype(), f32) << name;
    }
  optimizer.step(net.gradients(inputs().to(bf16), targets()).second);
  EXPECT_EQ(net.first.weight.dtype(), bf16);
}

TEST(Optimizer, ATensorOfTwoLayersIsOneParameter) {
  struct Tied : Module {
    Linear first{3, 3, false}, second{3, 3, false};
    Tied() {
      second.weight = first.weight;
      register_module("first", first);
      register_module("second", second);
    }
  } net;
  Sgd optimizer(net, {.lr = 1});
  EXPECT_EQ(optimizer.parameter_names(), std::vector<std::string>{"first.weight"});
}

TEST(Optimizer, TwoShareTheGradientsOfAModule) {
  SmallNetwork net;
  const std::vector<float> before = weights_of(net);
  Muon muon(trainable_parameters(net, {"first.weight"}), {.lr = 0.02});
  AdamW adamw(trainable_parameters(
      net, [](std::string_view name, const Tensor&) { return name != "first.weight"; }));
  EXPECT_EQ(adamw.parameter_names().size(), 3U);
  const NamedTensors gradients = net.gradients(inputs(), targets()).second;
  adamw.step(gradients);
  EXPECT_EQ(weights_of(net), before);
  muon.step(gradients);
  EXPECT_NE(weights_of(net), before);
}

// The options of a rule are all that a program writes for an optimizer of its own.
struct SignOptions {
  static constexpr const char* name = "Sign";
  double lr = 0.25;
  std::vector<OptimizerSetting> settings() const { return {{"lr", lr}}; }
  Tensor update(const ParameterUpdate& at) const {
    return at.parameter - at["lr"] * sign(at.gradient);
  }
};

TEST(Optimizer, IsMadeOfAnUpdateRule) {
  Tensor parameter = Tensor::from({1.F, 2.F});
  OptimizerBy<SignOptions> optimizer({{"p", parameter}});
  optimizer.step(std::vector<Tensor>{Tensor::from({-3.F, 0.1F})});
  EXPECT_EQ(parameter.to_vector<float>(), (std::vector<float>{1.25F, 1.75F}));
  expect_contains(error_of([&] { optimizer.set("beta", 1); }), "[Sign] group 0 has no setting");
}

TEST(Optimizer, MisuseIsNamed) {
  SmallNetwork net;
  Tensor ids = Tensor::from({1, 2});
  expect_contains(error_of([&] {
                    Adam({{"ids", ids}});
                  }),
                  "[Adam] the parameter \"ids\" is of i32");
  expect_contains(error_of([&] { Adam(std::vector<NamedParameter>{}); }), "no parameter to train");
  expect_contains(error_of([&] { Adam(net, {.lr = -1}); }), "[Adam] lr is -1");
  expect_contains(error_of([&] { Adam(net, {.betas = {0.9, 1.0}}); }), "below 1");
  const std::string said = error_of([&] { Sgd(net, {.nesterov = true}); });
  expect_contains(said, "[SGD] nesterov");
  expect_contains(said, "(at optimizer_test.cpp:");
  expect_contains(error_of([&] { Muon(net, {}); }), "[Muon] the parameter \"first.bias\" is 5");
  expect_contains(error_of([&] {
                    Adam(net, {}, {{"*.gain", [](AdamOptions&) {}}});
                  }),
                  "no parameter passes the filter of group 1, \"*.gain\"");
  expect_contains(error_of([&] { trainable_parameters(net, "third.*"); }), "\"third.*\"");
  expect_contains(error_of([&] {
                    Adam({{"a", net.first.bias}, {"a", net.second.bias}});
                  }),
                  "two parameters have the name \"a\"");
}

TEST(Optimizer, MisuseOfStepsAndSettingsIsNamed) {
  SmallNetwork net;
  Adam optimizer(net);
  NamedTensors gradients = net.gradients(inputs(), targets()).second;
  gradients["first.bias"] = ramp({4});
  expect_contains(error_of([&] { optimizer.step(gradients); }),
                  "[Adam] the gradient of \"first.bias\" is f32 4");
  gradients.erase("first.bias");
  expect_contains(error_of([&] { optimizer.step(gradients); }), "no gradient of \"first.bias\"");
  expect_contains(error_of([&] { optimizer.step(std::vector<Tensor>{}); }),
                  "0 gradients for 4 parameters");
  EXPECT_EQ(optimizer.steps().item<double>(), 0);
  expect_contains(error_of([&] { optimizer.set("momentum", 0.9); }), "has no setting \"momentum\"");
  expect_contains(error_of([&] { optimizer.set("beta1", 1.5); }), "[Adam] beta1 is 1.5");
  expect_contains(error_of([&] { optimizer.value("lr", 1); }), "group 1 is asked for, of 1");
  net.to(bf16);
  expect_contains(
      error_of([&] { optimizer.step(net.gradients(inputs().to(bf16), targets()).second); }),
      "has become bf16");
}

TEST(Clipping, TakesAListInBraces) {
  const Tensor a = Tensor::from(std::vector<float>{3}, {1}), b = a + 1;
  EXPECT_FLOAT_EQ(global_norm({a, b}).item<float>(), 5);
}

}  // namespace
}  // namespace tilewright::optimizer_test
