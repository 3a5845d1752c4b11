// Attention of any form against loops, and rotary positions by hand.
#include "graph/functions/attending/general_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/functions/attending/rotary.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::general_attention_test {
namespace {

using testing_loops::Dice;
using testing_loops::expect_at_once_and_compiled;
using testing_loops::expect_close;
using testing_loops::Floats;
using testing_loops::Tensors;

struct Case {
  std::int64_t heads, own, rows, keys, size, width;  // of one batch
  GeneralAttentionOptions options;
};

// [heads, rows, width].
Floats by_loops(const Case& c, const Floats& q, const Floats& k, const Floats& v,
                const Floats& mask) {
  Floats result;
  for (std::int64_t h = 0; h < c.heads; ++h)
    for (std::int64_t r = 0; r < c.rows; ++r) {
      const std::int64_t from = h / (c.heads / c.own);
      Floats score;
      for (std::int64_t s = 0; s < c.keys; ++s) {
        float sum = 0;
        for (std::int64_t d = 0; d < c.size; ++d)
          sum += q[static_cast<std::size_t>((h * c.rows + r) * c.size + d)] *
                 k[static_cast<std::size_t>((from * c.keys + s) * c.size + d)];
        sum *= static_cast<float>(
            c.options.scale.value_or(1 / std::sqrt(static_cast<double>(c.size))));
        if (c.options.cap > 0)
          sum = static_cast<float>(c.options.cap * std::tanh(sum / c.options.cap));
        if (!mask.empty()) sum += mask[static_cast<std::size_t>(r * c.keys + s)];
        if (c.options.first_place && s > *c.options.first_place + r)
          sum = -std::numeric_limits<float>::infinity();
        score.push_back(sum);
      }
      float total = 0;
      for (float each : score) total += std::exp(each);
      for (std::int64_t w = 0; w < c.width; ++w) {
        float sum = 0;
        for (std::int64_t s = 0; s < c.keys; ++s)
          sum += std::exp(score[static_cast<std::size_t>(s)]) *
                 v[static_cast<std::size_t>((from * c.keys + s) * c.width + w)];
        result.push_back(total == 0 ? 0 : sum / total);
      }
    }
  return result;
}

TEST(GeneralAttention, IsItsDefinition) {
  const float none = -std::numeric_limits<float>::infinity();
  for (Case c :
       {Case{2, 2, 3, 4, 5, 5, {}}, Case{4, 2, 3, 4, 5, 7, {.scale = 0.3}},
        Case{2, 1, 3, 5, 4, 4, {.first_place = 0}}, Case{2, 2, 3, 5, 4, 4, {.first_place = 2}},
        Case{2, 2, 3, 5, 4, 6, {.first_place = 1, .cap = 2}}})
    for (bool is_masked : {false, true}) {
      Dice dice(5);
      const Tensor q = dice.floats({1, c.heads, c.rows, c.size}),
                   k = dice.floats({1, c.own, c.keys, c.size}),
                   v = dice.floats({1, c.own, c.keys, c.width});
      Floats mask;
      if (is_masked) {
        mask = dice.floats({c.rows, c.keys}).to_vector<float>();
        for (std::int64_t s = 0; s < c.keys; ++s) mask[static_cast<std::size_t>(s)] = none;
        c.options.mask = Tensor::from(mask, {c.rows, c.keys});
      }
      const Floats wanted =
          by_loops(c, q.to_vector<float>(), k.to_vector<float>(), v.to_vector<float>(), mask);
      expect_at_once_and_compiled(
          [&](const Tensors& t) -> Tensors {
            const AttentionSteps steps = attention_steps(t[0], t[1], c.options);
            return {general_attention(t[0], t[1], t[2], c.options),
                    attention_of_weights(steps.weights, t[2])};
          },
          {q, k, v},
          [&](const Tensors& got) {
            for (const Tensor& each : got)
              expect_close(each, {1, c.heads, c.rows, c.width}, wanted, 1e-5F);
          });
    }
}

TEST(GeneralAttention, TakesThreeAxesAndBooleanMasks) {
  Dice dice(6);
  const Tensor q = dice.floats({2, 3, 4}), k = dice.floats({2, 5, 4}), v = dice.floats({2, 5, 6});
  const Tensor seen = dice.floats({3, 5}) > 0.0;
  const Tensor y = general_attention(q, k, v, {.mask = seen});
  const Tensor with_axis =
      general_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), {.mask = seen});
  expect_close(y, {2, 3, 6}, with_axis.to_vector<float>(), 1e-6F);
  const Floats sums = attention_logsumexp(q, k).to_vector<float>();
  const Floats products = attention_steps(q, k).products.to_vector<float>();
  float total = 0;
  for (std::size_t i = 0; i < 5; ++i) total += std::exp(products[i]);
  EXPECT_NEAR(sums[0], std::log(total), 1e-5F);
  expect_contains(error_of([&] {
                    general_attention(q, zeros({2, 5, 3}), v);
                  }),
                  "[attention] queries are f32 [2x3x4], keys [2x5x3]");
  expect_contains(error_of([&] {
                    attention_steps(zeros({1, 3, 2, 4}), zeros({1, 2, 5, 4}));
                  }),
                  "[attention] 3 heads of queries share 2 heads of keys");
}

TEST(Rotary, TurnsNeighboursOrHalves) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4, 9}, {1, 1, 1, 5});
  const Tensor cos = Tensor::from(Floats{0, 1}, {1, 1, 2}),
               sin = Tensor::from(Floats{1, 0}, {1, 1, 2});
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        return {rotary_embedding(t[0], t[1], t[2]), rotary_embedding(t[0], t[1], t[2], true)};
      },
      {x, cos, sin},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<float>(), (Floats{-3, 2, 1, 4, 9}));
        EXPECT_EQ(got[1].to_vector<float>(), (Floats{-2, 1, 3, 4, 9}));
      });
  const Tensor tables[] = {Tensor::from(Floats{1, 1, 0, 1}, {2, 2}),
                           Tensor::from(Floats{0, 0, 1, 0}, {2, 2})};
  const Tensor places = full({1, 1}, 1, i64);
  EXPECT_EQ(rotary_embedding(x, places, tables[0], tables[1]).to_vector<float>(),
            (Floats{-3, 2, 1, 4, 9}));
  expect_contains(error_of([&] {
                    rotary_embedding(x, cos, zeros({1, 1, 1}));
                  }),
                  "[rotary_embedding] cosines [1x1x2] and sines [1x1x1]");
  expect_contains(error_of([&] { rotary_embedding(x, places, cos, sin); }),
                  "[rotary_embedding] tables of cosines [1x1x2]");
  expect_contains(error_of([&] { rotary_embedding(zeros({2}), cos, sin); }),
                  "[rotary_embedding] x is [2]");
}

}  // namespace
}  // namespace tilewright::general_attention_test
