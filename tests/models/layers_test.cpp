#include "models/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/decoder/attention.h"
#include "models/layers/containers.h"
#include "models/layers/random.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::layers_test {
namespace {

using Values = std::vector<float>;

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor = Tensor::empty(shape);
  fill_uniform(tensor, -1, 1, RandomStream(seed));
  return tensor;
}
void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

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

// The oracle of the cache: the same rows at once, without one.
TEST(Attention, StepByStepWithACacheEqualsAllRowsAtOnce) {
  AttentionForm sizes{.hidden = 12, .heads = 6, .kv_heads = 2, .head_size = 4};
  Attention attention(sizes);
  RotaryTable table(16, 4, 10000);
  Tensor x = random_tensor({2, 7, 12}, 4);
  Tensor zero = Tensor::from<std::int64_t>({0}, {1});
  Values whole = attention.forward(x, RowPositions(zero, 7, table)).to_vector<float>();
  KeyValueCache cache = attention.new_cache(2, 16);
  for (std::int64_t begin = 0, step; begin < 7; begin += step) {
    step = begin == 0 ? 3 : begin == 3 ? 2 : 1;
    RowPositions row_positions(Tensor::from<std::int64_t>({begin}, {1}), step, table);
    Tensor rows = x.slice(1, begin, begin + step).contiguous();
    Values part = attention.forward(rows, row_positions, &cache).to_vector<float>();
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < step * 12; ++i)
        ASSERT_NEAR(part[std::size_t(b * step * 12 + i)],
                    whole[std::size_t((b * 7 + begin) * 12 + i)], 1e-5);
  }
}

// softmax(cap(q k^T scale)) v over what a row sees, element by element in double precision.
Values attended(const Values& q, const Values& k, const Values& v, std::int64_t heads,
                std::int64_t groups, std::int64_t rows, std::int64_t size, const Scores& scores) {
  Values out(q.size());
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t of_group = h / (heads / groups) * rows;
      std::int64_t first =
          scores.window > 0 ? std::max<std::int64_t>(0, row - scores.window + 1) : 0;
      std::vector<double> mixed(std::size_t(size), 0.0);
      double total = 0;
      for (std::int64_t key = first; key <= row; ++key) {
        double score = 0;
        for (std::int64_t i = 0; i < size; ++i)
          score += double(q[std::size_t((h * rows + row) * size + i)]) *
                   k[std::size_t((of_group + key) * size + i)];
        score *= scores.scale.value_or(1 / std::sqrt(double(size)));
        if (scores.cap > 0) score = scores.cap * std::tanh(score / scores.cap);
        total += std::exp(score);
        for (std::int64_t i = 0; i < size; ++i)
          mixed[std::size_t(i)] += std::exp(score) * v[std::size_t((of_group + key) * size + i)];
      }
      for (std::int64_t i = 0; i < size; ++i)  // rows of all heads beside each other
        out[std::size_t((row * heads + h) * size + i)] = float(mixed[std::size_t(i)] / total);
    }
  return out;
}

TEST(KeyValueCache, WeighsValuesAsTheScoresSay) {
  constexpr std::int64_t heads = 4, groups = 2, rows = 9, size = 6;
  Tensor q = random_tensor({1, heads, rows, size}, 11),
         k = random_tensor({1, groups, rows, size}, 12),
         v = random_tensor({1, groups, rows, size}, 13);
  RowPositions row_positions(Tensor::from<std::int64_t>({0}, {1}), rows);
  for (double cap : {0.0, 0.5})
    for (std::int64_t window : {0, 4})
      for (std::optional<double> scale : {std::optional<double>(), std::optional<double>(2)}) {
        Scores scores{scale, cap, window};
        Values expected = attended(q.to_vector<float>(), k.to_vector<float>(), v.to_vector<float>(),
                                   heads, groups, rows, size, scores);
        for (std::int64_t positions : {0, 9, 14}) {
          KeyValueCache cache;
          if (positions > 0) cache.allocate(1, groups, size, positions, f32, Device::cpu());
          expect_near(cache.attend(q, k, v, row_positions, scores).to_vector<float>(), expected,
                      1e-5);
        }
      }
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

TEST(Attention, RefusesABatchOtherThanTheCaches) {
  Attention attention({.hidden = 8, .heads = 2, .kv_heads = 1, .head_size = 4});
  KeyValueCache cache = attention.new_cache(1, 4);
  RotaryTable table(4, 4, 10000);
  RowPositions row_positions(Tensor::from<std::int64_t>({0}, {1}), 1, table);
  EXPECT_THAT(error_of([&] {
                attention.forward(random_tensor({2, 1, 8}, 5), row_positions, &cache);
              }),
              ::testing::HasSubstr("[attention] a batch of 2; the cache is for 1"));
  EXPECT_THAT(error_of([&] { attention.new_cache(0, 4); }),
              ::testing::HasSubstr("both must be above 0"));
  EXPECT_THAT(error_of([] {
                Attention({8, 3, 2, 4});
              }),
              ::testing::HasSubstr("heads must be a multiple of groups"));
  EXPECT_THAT(
      error_of([] {
        Attention({.hidden = 8, .heads = 2, .kv_heads = 1, .head_size = 4, .qkv_by_head = true});
      }),
      ::testing::HasSubstr("q, k and v by head with 2 heads in 1 groups"));
  EXPECT_THAT(
      error_of([] {
        Attention(
            {.hidden = 8, .heads = 2, .kv_heads = 1, .head_size = 4, .names = {.qkv = "qkv"}});
      }),
      ::testing::HasSubstr("the parts named are not q, k and v, nor qkv"));
}

}  // namespace
}  // namespace tilewright::layers_test
