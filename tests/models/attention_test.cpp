// Attention with a cache of keys and values: step by step as all at once, and in a batch of its
// own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/decoder/attention.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "tests/errors.h"
#include "tests/models/random_tensors.h"

namespace tilewright::attention_test {
namespace {

using namespace testing_layers;

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

// Texts at positions of their own, in caches that lie either way, with windows, caps and sinks:
// what each is alone.
TEST(Attention, OfABatchAtDifferentPositionsIsThatOfEachText) {
  constexpr std::int64_t batch = 3, rows = 2, hidden = 24;
  for (std::int64_t head_size : {4, 16})
    for (bool has_sinks : {false, true}) {
      AttentionForm form{.hidden = hidden, .heads = 4, .kv_heads = 2, .head_size = head_size};
      form.has_sinks = has_sinks;
      form.scores.window = 5;
      Attention attention(form);
      RotaryTable table(16, head_size, 10000);
      const std::vector<std::int64_t> begins = {0, 9, 4};
      KeyValueCache together = attention.new_cache(batch, 16);
      std::vector<Values> expected;
      const Tensor next = random_tensor({batch, rows, hidden}, 5);
      for (std::int64_t text = 0; text < batch; ++text) {
        const std::int64_t begin = begins[std::size_t(text)];
        KeyValueCache alone = attention.new_cache(1, 16);
        if (begin > 0)
          attention.forward(random_tensor({1, begin, hidden}, 10 + text),
                            RowPositions(Tensor::from<std::int64_t>({0}, {1}), begin, table),
                            &alone);
        together.copy_text(text, alone, 0, begin);
        expected.push_back(
            attention
                .forward(next.slice(0, text, text + 1).contiguous(),
                         RowPositions(Tensor::from<std::int64_t>({begin}, {1}), rows, table),
                         &alone)
                .to_vector<float>());
      }
      const RowPositions places(Tensor::from(begins, {batch}), rows, table);
      const Values all = attention.forward(next, places, &together).to_vector<float>();
      for (std::size_t text = 0; text < expected.size(); ++text)
        for (std::size_t i = 0; i < expected[text].size(); ++i)
          ASSERT_NEAR(all[text * expected[text].size() + i], expected[text][i], 1e-5)
              << "text " << text << ", heads of " << head_size;
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
          if (positions > 0) cache.allocate(1, {groups, size, positions, f32}, Device::cpu());
          expect_near(cache.attend(q, k, v, row_positions, scores).to_vector<float>(), expected,
                      1e-5);
        }
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
}  // namespace tilewright::attention_test
