// Layers as PyTorch's modules: their state has PyTorch's names and shapes, loads, and gives its
// results, at once and compiled (tools/pytorch_modules.py writes the cases).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "graph/compile/compile.h"
#include "models/layers/containers.h"
#include "models/layers/convolutions.h"
#include "models/layers/multihead_attention.h"
#include "models/layers/norms.h"
#include "models/layers/recurrent_layers.h"
#include "models/layers/stateless.h"
#include "models/layers/transformer.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/source_folder.h"

namespace tilewright::pytorch_modules_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

const Safetensors& cases() {
  static const Safetensors file =
      Safetensors::open(source_folder() / "tests/models/modules.safetensors");
  return file;
}

std::map<std::string, Tensor> tensors_of(const std::string& prefix) {
  std::map<std::string, Tensor> found;
  for (const SafetensorsEntry& entry : cases().entries())
    if (entry.name.starts_with(prefix))
      found.emplace(entry.name.substr(prefix.size()), cases().tensor(entry.name));
  return found;
}
Tensors numbered(const std::string& prefix) {
  Tensors all;
  for (const auto& [name, tensor] : tensors_of(prefix)) all.push_back(tensor);
  return all;
}

void expect_near(const Tensor& actual, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(actual.shape(), wanted.shape()) << what;
  ASSERT_EQ(actual.dtype(), wanted.dtype()) << what;
  const auto a = actual.to(f64).to_vector<double>(), b = wanted.to(f64).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 2e-5 * std::max(1.0, std::abs(b[i]))) << what << ", element " << i;
}

using Forward = std::function<Tensors(const Tensors& inputs)>;

struct Expectation {
  bool is_trained = false;
  int times = 1;
};

void expect_as_pytorch(const std::string& name, Module& module, const Forward& forward,
                       const Expectation& how = {}) {
  SCOPED_TRACE(name);
  const auto state = tensors_of(name + "/state/");
  std::set<std::string> wanted, names;
  for (const auto& [key, tensor] : state) wanted.insert(key);
  for (const auto& [key, tensor] : module.state()) names.insert(key);
  EXPECT_EQ(names, wanted);
  module.train(how.is_trained);
  const Tensors inputs = numbered(name + "/in/"), outputs = numbered(name + "/out/");
  const auto compiled = compile(forward);
  for (const bool is_compiled : {false, true}) {
    module.load(Weights::of(state));
    Tensors results;
    for (int i = 0; i < how.times; ++i) results = is_compiled ? compiled(inputs) : forward(inputs);
    ASSERT_EQ(results.size(), outputs.size());
    const std::string what = is_compiled ? "compiled, result " : "at once, result ";
    for (std::size_t i = 0; i < results.size(); ++i)
      expect_near(results[i], outputs[i], concat(what, i));
    for (const auto& [key, tensor] : tensors_of(name + "/after/"))
      expect_near(module.state().at(key), tensor, concat(what, key, " after it"));
  }
}

// A module of one tensor.
template <typename M>
void expect_as_pytorch(const std::string& name, M& module, const Expectation& how = {}) {
  expect_as_pytorch(
      name, module, [&](const Tensors& t) -> Tensors { return {module(t[0])}; }, how);
}

TEST(PyTorchModules, ConvolutionsAreTheSame) {
  Conv1d one(3, 4, 3, {.stride = {2}, .padding = {1}});
  expect_as_pytorch("conv1d", one);
  Conv2d two(4, 6, {3, 2}, {.padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  expect_as_pytorch("conv2d", two);
  Conv2d same(2, 3, 4, {.keeps_sizes = true, .bias = false, .padding_mode = PadMode::replicate});
  expect_as_pytorch("conv2d_same", same);
  Conv2d reflect(2, 3, 3, {.padding = {1, 2}, .padding_mode = PadMode::reflect});
  expect_as_pytorch("conv2d_reflect", reflect);
  Conv3d three(2, 2, 2);
  expect_as_pytorch("conv3d", three);
}

TEST(PyTorchModules, TransposedConvolutionsAreTheSame) {
  ConvTranspose1d one(3, 4, 3, {.stride = {2}, .output_padding = {1}});
  expect_as_pytorch("conv_transpose1d", one);
  ConvTranspose2d two(4, 6, 3, {.stride = {2}, .padding = {1}, .groups = 2});
  expect_as_pytorch("conv_transpose2d", two);
  ConvTranspose3d three(2, 2, 2, {.stride = {2}, .bias = false});
  expect_as_pytorch("conv_transpose3d", three);
}

TEST(PyTorchModules, NormsAreTheSameEvaluatedAndTrained) {
  BatchNorm2d batch(3);
  expect_as_pytorch("batch_norm", batch);
  BatchNorm1d trained(3, {.momentum = 0.3});
  expect_as_pytorch("batch_norm_trained", trained, {.is_trained = true, .times = 2});
  BatchNorm2d mean(3, {.momentum = std::nullopt});
  expect_as_pytorch("batch_norm_mean", mean, {.is_trained = true, .times = 3});
  BatchNorm1d untracked(3, {.affine = false, .track_running_stats = false});
  expect_as_pytorch("batch_norm_untracked", untracked);
  GroupNorm group(2, 6);
  expect_as_pytorch("group_norm", group);
  InstanceNorm2d instance(3, 1e-5, true);
  expect_as_pytorch("instance_norm", instance);
}

TEST(PyTorchModules, FunctionsAsLayersAreTheSame) {
  Softplus softplus(2, 1.5);
  expect_as_pytorch("softplus", softplus);
  Mish mish;
  expect_as_pytorch("mish", mish);
  Relu6 relu6;
  expect_as_pytorch("relu6", relu6);
  MaxPool3d pool({2, 3, 2}, {.stride = {2}, .padding = {1}});
  expect_as_pytorch("max_pool3d", pool);
}

TEST(PyTorchModules, BagsAndBilinearLayersAreTheSame) {
  EmbeddingBag mean(5, 3), most(5, 3, {.mode = BagMode::max}),
      sum(5, 3, {.mode = BagMode::sum, .has_last_offset = true, .ignored_row = 2});
  EXPECT_EQ(sum.weight.slice(0, 2, 3).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  expect_as_pytorch("bag_mean", mean);
  expect_as_pytorch("bag_max", most);
  expect_as_pytorch("bag_sum", sum,
                    [&](const Tensors& t) -> Tensors { return {sum(t[0], t[1], t[2])}; });
  Bilinear bilinear(3, 5, 2);
  expect_as_pytorch("bilinear", bilinear,
                    [&](const Tensors& t) -> Tensors { return {bilinear(t[0], t[1])}; });
  EXPECT_THAT(error_of([] { EmbeddingBag(5, 3, {.ignored_row = 5}); }),
              HasSubstr("the ignored row is 5"));
}

TEST(PyTorchModules, EncoderLayersAreTheSame) {
  TransformerEncoderLayer encoder(8, 2, {.inner = 12});
  expect_as_pytorch("encoder", encoder);
  TransformerEncoderLayer first(8, 4,
                                {.inner = 6,
                                 .activation = Activation::gelu,
                                 .eps = 1e-3,
                                 .batch_first = true,
                                 .norm_first = true,
                                 .bias = false});
  expect_as_pytorch("encoder_first", first, [&](const Tensors& t) -> Tensors {
    return {first(t[0], {.key_padding_mask = t[1] != 0.0, .is_causal = true})};
  });
  Sequential stack;
  stack.add<TransformerEncoderLayer>(8, 2, {.inner = 12});
  EXPECT_EQ(stack(zeros({5, 2, 8})).shape(), (Shape{5, 2, 8}));
  EXPECT_THAT(
      error_of([&] {
        stack(zeros({5, 2, 7}));
      }),
      HasSubstr(concat("pytorch_modules_test.cpp:", std::source_location::current().line())));
}

TEST(PyTorchModules, RecurrentLayersTakeLengthsAsPackedSequences) {
  Lstm lstm(3, 4, {.layers = 2, .bidirectional = true});
  expect_as_pytorch("lstm_packed", lstm, [&](const Tensors& t) -> Tensors {
    LstmResult r = lstm(t[0], {}, t[1]);
    return {r.output, r.hidden, r.cell};
  });
  Gru gru(3, 4, {.batch_first = true});
  expect_as_pytorch("gru_packed", gru, [&](const Tensors& t) -> Tensors {
    auto [output, hidden] = gru(t[0], {}, t[1]);
    return {output, hidden};
  });
  EXPECT_THAT(error_of([&] {
                gru(zeros({3, 5, 3}), {}, full({3}, 6, i64));
              }),
              HasSubstr("[gru] length 6 is outside"));
}

TEST(PyTorchModules, RecurrentLayersAreTheSame) {
  Lstm lstm(3, 4, {.layers = 2, .bidirectional = true});
  expect_as_pytorch("lstm", lstm, [&](const Tensors& t) -> Tensors {
    LstmResult r = lstm(t[0], {t[1], t[2]});
    return {r.output, r.hidden, r.cell};
  });
  Lstm projected(3, 5, {.batch_first = true, .projection = 2});
  expect_as_pytorch("lstm_projected", projected, [&](const Tensors& t) -> Tensors {
    LstmResult r = projected(t[0]);
    return {r.output, r.hidden, r.cell};
  });
  Lstm single(3, 4, {.bias = false});
  expect_as_pytorch("lstm_single", single, [&](const Tensors& t) -> Tensors {
    LstmResult r = single(t[0]);
    return {r.output, r.hidden, r.cell};
  });
  auto of_two = [](const auto& layer) {
    return [&layer](const Tensors& t) -> Tensors {
      auto [output, hidden] = layer(t[0]);
      return {output, hidden};
    };
  };
  Gru gru(3, 4, {.layers = 2, .batch_first = true});
  expect_as_pytorch("gru", gru, of_two(gru));
  Rnn tanh(3, 4, {.bidirectional = true});
  expect_as_pytorch("rnn_tanh", tanh, of_two(tanh));
  Rnn relu(3, 4, {}, RnnActivation::relu);
  expect_as_pytorch("rnn_relu", relu, of_two(relu));
}

TEST(PyTorchModules, AttentionIsTheSame) {
  MultiheadAttention attention(8, 2);
  expect_as_pytorch("attention", attention, [&](const Tensors& t) -> Tensors {
    auto r = attention(t[0], t[1], t[2], {.needs_weights = true});
    return {r.output, r.weights};
  });
  MultiheadAttention masked(8, 2);
  expect_as_pytorch("attention_masked", masked, [&](const Tensors& t) -> Tensors {
    auto r = masked(
        t[0], t[1], t[2],
        {.key_padding_mask = t[3], .mask = t[4], .needs_weights = true, .average_weights = false});
    return {r.output, r.weights};
  });
  MultiheadAttention widths(8, 4, {.batch_first = true, .key_width = 6, .value_width = 4});
  expect_as_pytorch("attention_widths", widths, [&](const Tensors& t) -> Tensors {
    return {widths(t[0], t[1], t[2], {.is_causal = true}).output};
  });
}

// Dropout between layers is drawn while a layer is trained, and then alone.
TEST(PyTorchModules, RecurrentLayersDropBetweenLayersWhileTheyAreTrained) {
  Lstm lstm(3, 16, {.layers = 2, .dropout = 0.5});
  const Tensor x = ones({4, 2, 3});
  auto differ = [&] {
    return lstm(x).output.to_vector<float>() != lstm(x).output.to_vector<float>();
  };
  EXPECT_TRUE(differ());
  lstm.eval();
  EXPECT_FALSE(differ());
}

// Running statistics are no parameters, but part of what is saved and loaded.
TEST(PyTorchModules, BuffersArePartOfTheState) {
  Sequential net;
  net.add<Conv2d>(1, 2, 3);
  net.add<BatchNorm2d>(2);
  net.add<Relu>();
  net.add<MaxPool2d>(2);
  net.add<AdaptiveAvgPool2d>(1);
  net.add<Flatten>();
  net.add<Linear>(2, 5);
  EXPECT_EQ(net.named_parameters().size(), 6U);
  EXPECT_EQ(net.named_buffers().size(), 3U);
  EXPECT_EQ(net.state().size(), 9U);
  EXPECT_EQ(net.named_buffers()[0].name, "1.running_mean");
  EXPECT_EQ(net(ones({2, 1, 8, 8})).shape(), (Shape{2, 5}));
  auto state = net.state();
  EXPECT_EQ(state.at("1.num_batches_tracked").item<std::int64_t>(), 1);
  state.erase("1.running_var");
  EXPECT_THAT(error_of([&] { net.load(Weights::of(state)); }), HasSubstr("1.running_var"));
  state = net.state();
  state.erase("1.num_batches_tracked");
  net.load(Weights::of(state));
}

TEST(PyTorchModules, SayWhatDoesNotFit) {
  auto says = [](const std::function<void()>& what, const char* text) {
    EXPECT_THAT(error_of(what), HasSubstr(text));
  };
  says([] { Conv2d(3, 4, 3, {.groups = 2}); }, "[conv2d] 3 channels to 4 in 2 groups");
  says([] { Conv2d(4, 4, {3, 3, 3}); }, "the kernel has 3 sizes");
  says([] { ConvTranspose1d(4, 4, 0); }, "[conv_transpose1d] a size of the kernel is 0");
  says([] { Conv2d(3, 4, 3)(zeros({1, 4, 8, 8})); }, "the input is 1x4x8x8");
  says([] { Conv2d(3, 4, 3)(Tensor()); }, "an undefined tensor");
  says([] { BatchNorm(0); }, "there are 0 channels");
  says([] { BatchNorm(3)(zeros({2, 4})); }, "it must be [N, 3, ..]");
  says([] { GroupNorm(4, 6); }, "6 channels in 4 groups");
  says([] { Gru(3, 4, {.projection = 2}); }, "only an Lstm has one");
  says([] { Lstm(3, 4, {.projection = 4}); }, "it must be in [0, 4)");
  says([] { Lstm(3, 4)(zeros({5, 2, 4})); }, "it must be [T, N, 3], or [T, 3]");
  says([] { Gru(3, 4)(zeros({5, 2, 3}), zeros({1, 3, 4})); }, "it must be [1, 2, 4]");
  says([] { MultiheadAttention(8, 3); }, "a width of 8 for 3 heads");
  const Tensor x = zeros({3, 2, 8});
  says([&] { MultiheadAttention(8, 2)(x, x, x, {.mask = zeros({2, 3})}); }, "the mask is 2x3");
  says([&] { MultiheadAttention(8, 2)(x, x, zeros({4, 2, 8})); }, "a value for each key");
}

}  // namespace
}  // namespace tilewright::pytorch_modules_test
