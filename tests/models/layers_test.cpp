#include "models/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "graph/compile/compile.h"
#include "models/decoder/attention.h"
#include "models/layers/containers.h"
#include "models/layers/stateless.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/random_tensors.h"

namespace tilewright::layers_test {
namespace {

using namespace testing_layers;

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  Linear layer(2, 3);
  layer.load(Weights::of({{"weight", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2})},
                          {"bias", Tensor::from<float>({10, 20, 30}, {3})}}));
  Tensor y = layer(Tensor::from<float>({1, -1, 2, 0}, {2, 2}));
  expect_near(y.to_vector<float>(), {9, 19, 29, 12, 26, 40}, 1e-5);
}

// The values of integers of 8 bits with a scale per row.
Tensor meaning_of(const QuantizedWeight& weight) { return weight.values.to(f32) * weight.scales; }

TEST(Linear, WithQuantisedWeightsMultipliesByWhatTheIntegersMean) {
  Linear layer(64, 10);
  Tensor x = random_tensor({3, 64}, 3), before = layer(x), bias = layer.bias;
  layer.quantize({});
  EXPECT_FALSE(layer.weight.defined());
  EXPECT_EQ(layer.quantized.values.dtype(), DType::i8);
  ASSERT_EQ(layer.named_parameters().size(), 1U);
  EXPECT_EQ(layer.named_parameters()[0].name, "bias");
  Tensor y = layer(x);
  expect_near(y.to_vector<float>(), linear(x, meaning_of(layer.quantized), bias).to_vector<float>(),
              1e-5);
  expect_near(y.to_vector<float>(), before.to_vector<float>(), 64 * 0.125 / 127);
}

TEST(Linear, IsQuantisedOnceAndInGroupsThatDivideItsRows) {
  Linear layer(64, 10);
  EXPECT_THAT(error_of([&] { layer.quantize({.format = WeightFormat::int4, .group_size = 48}); }),
              ::testing::HasSubstr("groups of 48 do not divide rows of 64 weights"));
  layer.quantize({.format = WeightFormat::int4, .group_size = 32});
  EXPECT_THAT(error_of([&] { layer.quantize({}); }), ::testing::HasSubstr("quantised already"));
}

TEST(Conv1D, WithQuantisedWeightsMultipliesByWhatTheIntegersMean) {
  Conv1D layer(32, 7);
  Tensor x = random_tensor({5, 32}, 4);
  layer.quantize({});
  EXPECT_EQ(layer.quantized.values.shape(), (Shape{7, 32}));
  expect_near(layer(x).to_vector<float>(),
              linear(x, meaning_of(layer.quantized), layer.bias).to_vector<float>(), 1e-5);
}

TEST(Embedding, TakesRows) {
  Embedding layer(3, 2);
  layer.load(Weights::of({{"weight", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2})}}));
  Tensor y = layer(Tensor::from<std::int64_t>({2, 0}, {1, 2}));
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(y.to_vector<float>(), (Values{5, 6, 1, 2}));
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  RmsNorm layer(2, 0.5);
  Tensor y = layer(Tensor::from<float>({3, 4}, {1, 2}));
  double scale = 1 / std::sqrt(12.5 + 0.5);
  expect_near(y.to_vector<float>(), {float(3 * scale), float(4 * scale)}, 1e-6);
}

TEST(LayerNorm, CentresAndScales) {
  Tensor y = LayerNorm(3, 1e-9)(Tensor::from<float>({1, 2, 6}, {1, 3}));
  double scale = 1 / std::sqrt(14 / 3.0);
  expect_near(y.to_vector<float>(), {float(-2 * scale), float(-scale), float(3 * scale)}, 1e-5);
}

TEST(Mlp, GatesAsThePaperSays) {
  Mlp layer(4, 6);
  Tensor x = random_tensor({2, 4}, 1);
  Values gate = (*layer.gate_proj)(x).to_vector<float>(),
         up = (*layer.up_proj)(x).to_vector<float>();
  for (std::size_t i = 0; i < gate.size(); ++i)
    gate[i] = float(gate[i] / (1 + std::exp(-double(gate[i])))) * up[i];
  Tensor expected = layer.down_proj(Tensor::from(gate, {2, 6}));
  expect_near(layer(x).to_vector<float>(), expected.to_vector<float>(), 1e-5);
}

TEST(Sequential, AppliesItsLayersInOrder) {
  Sequential model;
  model.add<Linear>(2, 4);
  model.add<RmsNorm>(4);
  Tensor x = random_tensor({3, 2}, 2);
  EXPECT_EQ(model(x).shape(), (Shape{3, 4}));
  Linear alone(2, 4);
  alone.load(Weights::of(
      {{"weight", model.state().at("0.weight")}, {"bias", model.state().at("0.bias")}}));
  expect_near(model(x).to_vector<float>(), RmsNorm(4)(alone(x)).to_vector<float>(), 1e-6);
}

TEST(Sequential, HasLayersThatAreCalledByTheirNumbers) {
  Sequential model;
  model.add<Linear>(2, 4);
  model.add<RmsNorm>(4);
  const Tensor x = random_tensor({3, 2}, 2);
  auto one_by_one = [&](const Tensor& t) { return model[1](model[0](t)); };
  EXPECT_EQ(one_by_one(x).to_vector<float>(), model(x).to_vector<float>());
  expect_near(compile(one_by_one)(x).to_vector<float>(), model(x).to_vector<float>(), 1e-6);
  Module& first = model[0];
  EXPECT_EQ(first.parameter_count(), 12);
  EXPECT_EQ(error_of([&] { model[2](x); }),
            "[Sequential] there is no layer 2 among 2; name one that was added");
}

// Those of layers, of functions as layers, and of layers within layers.
TEST(Sequential, ErrorsNameTheLineOfItsCall) {
  Sequential inner;
  inner.add<Linear>(4, 2);
  struct Nested : Module {
    explicit Nested(Sequential& part) : part(part) { register_module("part", part); }
    Tensor forward(const Tensor& x,
                   std::source_location w = std::source_location::current()) const {
      return part.forward(x, w);
    }
    Sequential& part;
  };
  Sequential model, pooled;
  model.add<Relu>();
  model.add<Nested>(inner);
  pooled.add<MaxPool2d>(2);
  const Tensor x = random_tensor({3, 5}, 2);
  const auto line = [](const std::source_location& w) {
    return concat("layers_test.cpp:", w.line());
  };
  expect_contains(error_of([&] { model(x); }), line(std::source_location::current()));
  expect_contains(error_of([&] { pooled(x); }), line(std::source_location::current()));
  expect_contains(error_of([&] { pooled[0](x); }), line(std::source_location::current()));
}

struct Doubled : CallableModule<Doubled> {
  Linear inner{2, 2};
  Doubled() { register_module("inner", inner); }
  Tensor forward(const Tensor& x) const { return inner(x) * 2.0; }
};
struct Counted : CallableModule<Counted> {
  int calls = 0;
  std::pair<Tensor, Tensor> forward(const Tensor& a, const Tensor& b, double scale = 1) {
    ++calls;
    return {a * scale, b * scale};
  }
};

TEST(CallableModule, IsCalledAsItsForwardIs) {
  Doubled layer;
  const Tensor x = random_tensor({3, 2}, 2);
  EXPECT_EQ(layer(x).to_vector<float>(), layer.forward(x).to_vector<float>());
  EXPECT_EQ(std::as_const(layer)(x).to_vector<float>(), layer.forward(x).to_vector<float>());
  Counted counted;
  EXPECT_EQ(counted(x, x, 3).second.to_vector<float>(), (x * 3.0).to_vector<float>());
  EXPECT_EQ(counted(x, x).first.to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(counted.calls, 2);
  static_assert(!std::is_invocable_v<const Counted&, const Tensor&, const Tensor&>);
  static_assert(!std::is_invocable_v<Doubled&, int, int>);
  // It is a module like others: registered, in lists, and compiled.
  Sequential net;
  net.add<Doubled>();
  EXPECT_EQ(net.named_parameters().front().name, "0.inner.weight");
  auto fast = compile(layer);
  expect_near(fast(x).to_vector<float>(), layer(x).to_vector<float>(), 1e-6);
}

TEST(Rotate, TurnsHalvesAgainstEachOther) {
  RotaryTable table(8, 4, 100);
  RowPositions row_positions(Tensor::from<std::int64_t>({3}, {1}), 2, table);
  Tensor x = random_tensor({1, 1, 2, 4}, 3);
  Values in = x.to_vector<float>(), expected(8);
  for (int row = 0; row < 2; ++row)
    for (int i = 0; i < 2; ++i) {
      double angle = (3 + row) / std::pow(100, i / 2.0);
      double a = in[std::size_t(row * 4 + i)], b = in[std::size_t(row * 4 + i + 2)];
      expected[std::size_t(row * 4 + i)] = float(a * std::cos(angle) - b * std::sin(angle));
      expected[std::size_t(row * 4 + i + 2)] = float(b * std::cos(angle) + a * std::sin(angle));
    }
  expect_near(rotate(x, row_positions).to_vector<float>(), expected, 1e-6);
}

TEST(Norm, AddsOneToTheWeightWhereTheKindSaysSo) {
  Norm plus_one(NormKind::rms_plus_one, 4, 1e-6);
  RmsNorm plain(4, 1e-6);
  Tensor weight = random_tensor({4}, 21), x = random_tensor({3, 4}, 22);
  plus_one.weight.copy_from(weight);
  plain.weight.copy_from(weight + 1);
  expect_near(plus_one(x).to_vector<float>(), plain(x).to_vector<float>(), 1e-6);
  Norm bare(NormKind::layer_no_weight, 4, 1e-5);
  EXPECT_TRUE(bare.named_parameters().empty());
  expect_near(bare(x).to_vector<float>(), LayerNorm(4)(x).to_vector<float>(), 1e-6);
}

TEST(Mlp, HasTheFormThatItsNamesSay) {
  Tensor x = random_tensor({2, 4}, 31);
  Mlp plain(4, 6, MlpForm{.activation = Activation::relu_squared, .names = {.gate = {}}});
  Values up = (*plain.up_proj)(x).to_vector<float>();
  for (float& value : up) value = value > 0 ? value * value : 0;
  expect_near(plain(x).to_vector<float>(),
              plain.down_proj(Tensor::from(up, {2, 6})).to_vector<float>(), 1e-5);
  Mlp fused(4, 6, MlpForm{.names = {.gate = {}, .up = {}, .gate_up = "both"}}), apart(4, 6);
  apart.load(Weights::of({{"gate_proj.weight", fused.state().at("both.weight").slice(0, 0, 6)},
                          {"up_proj.weight", fused.state().at("both.weight").slice(0, 6, 12)},
                          {"down_proj.weight", fused.state().at("down_proj.weight")}}));
  expect_near(fused(x).to_vector<float>(), apart(x).to_vector<float>(), 1e-5);
  EXPECT_THAT(error_of([] { Mlp(4, 6, MlpForm{.names = {.gate_up = "both"}}); }),
              ::testing::HasSubstr("[mlp] the names of up and of gate_up are \"up_proj\" and"));
}

TEST(Activations, AreTheirFormulas) {
  Values in = {-2.5F, -0.3F, 0, 0.7F, 3};
  Tensor x = Tensor::from(in, {5});
  const std::pair<Activation, double (*)(double)> formulas[] = {
      {Activation::silu, [](double v) { return v / (1 + std::exp(-v)); }},
      {Activation::gelu, [](double v) { return v * (1 + std::erf(v / std::sqrt(2))) / 2; }},
      {Activation::gelu_tanh,
       [](double v) {
         return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
       }},
      {Activation::quick_gelu, [](double v) { return v / (1 + std::exp(-1.702 * v)); }},
      {Activation::relu, [](double v) { return std::max(v, 0.0); }},
      {Activation::relu_squared, [](double v) { return v > 0 ? v * v : 0; }}};
  for (auto [activation, formula] : formulas) {
    Values expected;
    for (float v : in) expected.push_back(float(formula(v)));
    expect_near(activate(activation, x).to_vector<float>(), expected, 1e-5);
  }
}

}  // namespace
}  // namespace tilewright::layers_test
