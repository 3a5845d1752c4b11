// Averages of weights beside those of PyTorch 2.15's AveragedModel: four updates of a linear layer
// and a batch norm whose tensors a fixed rule changes, at once and compiled.
#include "models/training/weight_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/layers/norms.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::weight_average_test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Floats = std::vector<float>;

struct Net : Module {
  Linear linear{2, 2, false};
  BatchNorm1d norm{2};
  Net() {
    register_module("linear", linear);
    register_module("norm", norm);
    linear.weight.copy_from(ramp({2, 2}, 0.1F));
    norm.running_mean.copy_from(Tensor::from(Floats{0.5F, -0.5F}, {2}));
    norm.running_var.copy_from(Tensor::from(Floats{1.5F, 2.0F}, {2}));
    norm.num_batches_tracked.copy_from(full({}, 3, i64));
  }
  // Stands for a step of training.
  void change() {
    linear.weight.copy_from(linear.weight * 1.5 + 0.25);
    norm.running_mean.copy_from(norm.running_mean * 0.5 + 1.0);
    norm.num_batches_tracked.copy_from(norm.num_batches_tracked + 4);
  }
};

struct Expected {
  AverageOptions options;
  Floats weight, mean;
  std::int64_t batches;
};
const Floats of_slow = {-0.082850F, 0.125725F, 0.334300F, 0.542875F},
             of_fast = {0.386950F, 0.830425F, 1.273900F, 1.717375F},
             of_swa = {0.109375F, 0.414062F, 0.718750F, 1.023438F}, last = {1.906250F, 1.843750F};
const Expected all_expected[] = {
    {{.decay = 0.9}, of_slow, last, 19},
    {{.decay = 0.9, .use_buffers = true}, of_slow, {1.396625F, 0.994375F}, 8},
    {{.decay = 0.3}, of_fast, last, 19},
    {{.decay = 0.3, .use_buffers = true}, of_fast, {1.851125F, 1.751875F}, 17},
    {{}, of_swa, last, 19},
    {{.use_buffers = true}, of_swa, {1.648438F, 1.414062F}, 13},
};

void expect_floats(const Tensor& got, const Floats& wanted) {
  EXPECT_THAT(got.to_vector<float>(), Pointwise(FloatNear(2e-6F), wanted));
}

TEST(AveragedWeights, ArePyTorchsAtOnceAndCompiled) {
  for (const Expected& expected : all_expected)
    for (bool is_compiled : {false, true}) {
      Net net;
      AveragedWeights average(net, expected.options);
      auto step = [&](const Tensor& x) {
        net.change();
        average.update();
        return x + 0.0;
      };
      auto fast = compile(step, {.fullgraph = true});
      for (int i = 0; i < 4; ++i) is_compiled ? fast(ones({1})) : step(ones({1}));
      expect_floats(average.average("linear.weight"), expected.weight);
      expect_floats(average.average("norm.running_mean"), expected.mean);
      EXPECT_EQ(average.average("norm.num_batches_tracked").item<std::int64_t>(), expected.batches);
      EXPECT_EQ(average.updates().item<std::int64_t>(), 4);
    }
}

TEST(AveragedWeights, HavePyTorchsNamesAndGoOnFromAFile) {
  ScratchFolder folder;
  Net first, second;
  AveragedWeights one(first, {.decay = 0.9}), other(second, {.decay = 0.9});
  for (int i = 0; i < 2; ++i) first.change(), second.change(), one.update();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : one.state()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("module.linear.weight", "module.norm.bias",
                                 "module.norm.num_batches_tracked", "module.norm.running_mean",
                                 "module.norm.running_var", "module.norm.weight", "n_averaged"));
  save_safetensors(folder.path() / "average.safetensors", one.state());
  other.load(Weights::of(Safetensors::open(folder.path() / "average.safetensors")));
  for (int i = 0; i < 2; ++i) second.change(), other.update();
  expect_floats(other.average("linear.weight"), of_slow);
  EXPECT_THAT(error_of([&] {
                other.load(Weights::of({{"n_averaged", zeros({}, i64)}}));
              }),
              HasSubstr("missing: module.linear.weight"));
}

TEST(AveragedWeights, AreExchangedWithTheModules) {
  Net net;
  AveragedWeights average(net, {.decay = 0.9});
  for (int i = 0; i < 4; ++i) net.change(), average.update();
  const Floats trained = net.linear.weight.to_vector<float>();
  average.exchange();
  expect_floats(net.linear.weight, of_slow);
  average.exchange();
  EXPECT_EQ(net.linear.weight.to_vector<float>(), trained);
  expect_floats(average.average("linear.weight"), of_slow);
}

TEST(AveragedWeights, ChangeTheirDecayWithoutCompiling) {
  Net net;
  AveragedWeights average(net, {.decay = 0.9});
  auto fast = compile([&](const Tensor& x) {
    net.change();
    average.update();
    return x + 0.0;
  });
  fast(ones({1}));
  average.set_decay(0);
  fast(ones({1}));
  EXPECT_EQ(average.average("linear.weight").to_vector<float>(),
            net.linear.weight.to_vector<float>());
  EXPECT_EQ(fast.report().size(), 1U);
  EXPECT_TRUE(fast.recompilations().empty());
}

TEST(AveragedWeights, MisuseIsNamed) {
  Net net;
  EXPECT_THAT(error_of([&] { AveragedWeights(net, {.decay = 1.5}); }),
              HasSubstr("[average] decay is 1.5"));
  AveragedWeights average(net);
  EXPECT_THAT(error_of([&] { average.average("linear.bias"); }),
              HasSubstr("no tensor \"linear.bias\""));
  Module empty;
  EXPECT_THAT(error_of([&] { AveragedWeights{empty}; }), HasSubstr("has no parameters"));
}

}  // namespace
}  // namespace tilewright::weight_average_test
