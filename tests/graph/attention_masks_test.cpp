// Masks of attention that are made of lengths and places, at once and compiled.
#include "graph/functions/attending/masks.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::attention_masks_test {
namespace {

using namespace testing_loops;

Tensor ints(const std::vector<std::int32_t>& elements, const Shape& shape) {
  return Tensor::from(elements, shape);
}

TEST(AttentionMasks, HaveTheFormsOfOnnxRuntime) {
  auto bias = [](const Tensors& t) { return Tensors{bias_of_mask(t[0], {1, 2, 3}, -5)}; };
  expect_equal<float>(bias, {ints({1, 0, 1}, {1, 3})}, {1, 1, 1, 3}, {0, -5, 0});
  expect_equal<float>(bias, {ints({1, 0, 0, 1, 1, 0}, {1, 2, 3})}, {1, 1, 2, 3},
                      {0, -5, -5, 0, 0, -5});
  expect_equal<float>(bias, {ints({2}, {1})}, {1, 1, 1, 3}, {0, 0, -5});
  expect_equal<float>(bias, {ints({2, 1}, {2})}, {1, 1, 1, 3}, {-5, 0, -5});
}

TEST(AttentionMasks, HideKeysBehindRowsAndBeforeTheirWindow) {
  constexpr float least = -std::numeric_limits<float>::max();
  const Tensor rows = Tensor::from(Integers{1}, {1, 1});
  for (std::int64_t window : {0, 1}) {
    auto bias = [=](const Tensors& t) { return Tensors{bias_of_places(t[0], 3, window)}; };
    expect_equal<float>(bias, {rows}, {1, 1, 1, 3}, {window == 1 ? least : 0, 0, least});
  }
}

TEST(AttentionMasks, SeeTheFirstKeysOfEachOfTheBatch) {
  auto seen = [](bool causal) {
    return [=](const Tensors& t) { return Tensors{keys_within(t[0], {2, 2, 2}, causal).to(f32)}; };
  };
  const Tensor counts = Tensor::from(Integers{1, 2}, {2});
  expect_equal<float>(seen(false), {counts}, {2, 1, 1, 2}, {1, 0, 1, 1});
  expect_equal<float>(seen(true), {counts}, {2, 1, 2, 2}, {0, 0, 1, 0, 1, 0, 1, 1});
}

TEST(AttentionMasks, AreJoinedWithOthers) {
  const Tensor seen = Tensor::from(Floats{1, 0}, {2}) != 0, none;
  const Tensor added = Tensor::from(Floats{3, 4}, {2});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(joined_mask(seen, added).to_vector<float>(), (Floats{3, -infinity}));
  EXPECT_EQ(joined_mask(seen, logical_not(seen)).to(f32).to_vector<float>(), (Floats{0, 0}));
  EXPECT_EQ(joined_mask(none, added).to_vector<float>(), (Floats{3, 4}));
  EXPECT_TRUE(is_boolean(joined_mask(seen, none).dtype()));
  EXPECT_EQ(joined_bias(added, added).to_vector<float>(), (Floats{6, 8}));
  EXPECT_EQ(joined_bias(none, added).to_vector<float>(), (Floats{3, 4}));
  EXPECT_FALSE(joined_bias(none, none).defined());
}

TEST(AttentionMasks, SayWhatDoesNotFit) {
  expect_contains(error_of([] {
                    bias_of_mask(ones({1, 3}), {1, 2, 3}, 0);
                  }),
                  "[bias_of_mask] the mask is f32");
  expect_contains(error_of([] {
                    bias_of_mask(zeros({1, 4}, i32), {1, 2, 3}, 0);
                  }),
                  "[bias_of_mask] a mask [1x4] for 1 rows of 2 queries and 3 keys");
  expect_contains(error_of([] {
                    keys_within(zeros({2}, i64), {1, 2, 3}, false);
                  }),
                  "[keys_within] the numbers of keys are 2");
  expect_contains(error_of([] {
                    const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 4, 5, 8});
                    scaled_dot_product_attention(q, k, k, {.mask = zeros({7, 5})});
                  }),
                  "[attention] the mask is 7x5");
}

}  // namespace
}  // namespace tilewright::attention_masks_test
