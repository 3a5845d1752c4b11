// Where texts lie in calls of an encoder, and how their states are pooled.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "models/encoder/pooling.h"
#include "models/encoder/text_lanes.h"

namespace tilewright::text_lanes_test {
namespace {

std::int64_t places_of(const std::vector<LaneCall>& calls) {
  std::int64_t sum = 0;
  for (const LaneCall& call : calls) sum += call.sizes.lanes * call.sizes.places;
  return sum;
}

// Each text once, inside of its call, and over no other.
void expect_apart(const std::vector<LaneCall>& calls, const std::vector<std::int64_t>& tokens) {
  std::set<std::size_t> seen;
  for (const LaneCall& call : calls) {
    std::set<std::int64_t> taken;
    for (const PlacedText& text : call.texts) {
      EXPECT_TRUE(seen.insert(text.text).second);
      EXPECT_EQ(text.tokens, tokens[text.text]);
      EXPECT_LT(text.lane, call.sizes.lanes);
      EXPECT_LE(text.begin + text.tokens, call.sizes.places);
      for (std::int64_t i = 0; i < text.tokens; ++i)
        EXPECT_TRUE(taken.insert(text.lane * call.sizes.places + text.begin + i).second);
    }
  }
  EXPECT_EQ(seen.size(), tokens.size());
}

TEST(TextLanes, HoldRandomTextsApart) {
  std::mt19937 draw(5);  // NOLINT: the same in each run
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> tokens(1 + draw() % 70);
    for (std::int64_t& count : tokens) count = 1 + static_cast<std::int64_t>(draw() % 130);
    const LaneLimits limits{.max_places = 130 + static_cast<std::int64_t>(draw() % 3) * 100,
                            .call_tokens = 1024};
    const auto calls = place_texts(tokens, limits);
    expect_apart(calls, tokens);
    for (const LaneCall& call : calls) EXPECT_LE(call.sizes.places, limits.max_places);
  }
}

TEST(TextLanes, LeaveLittleUnused) {
  const LaneLimits limits{.max_places = 256, .call_tokens = 1024};
  EXPECT_EQ(place_texts(std::vector<std::int64_t>{17}, limits)[0].sizes, (LaneSizes{1, 24}));
  std::vector<std::int64_t> tokens;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 400; ++i) sum += tokens.emplace_back(5 + i * i % 90);
  EXPECT_LT(places_of(place_texts(tokens, limits)), sum * 105 / 100);
  tokens.resize(8);
  sum = 0;
  for (std::int64_t count : tokens) sum += count;
  EXPECT_LT(places_of(place_texts(tokens, limits)), sum + 24);
  EXPECT_TRUE(place_texts({}, limits).empty());
}

TEST(Pooling, HasTheFormulasOfSentenceTransformers) {
  const std::vector<float> states = {1, -4, 3, 2, 5, 8};  // 3 tokens of 2 numbers
  const Pool modes[] = {Pool::first, Pool::max,           Pool::mean,
                        Pool::last,  Pool::weighted_mean, Pool::mean_sqrt};
  std::vector<float> result(12);
  pool(states, 2, modes, result);
  const std::vector<float> wanted = {1, -4, 5, 8, 3, 2, 5, 8};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(result[i], wanted[i]) << i;
  EXPECT_FLOAT_EQ(result[8], (1 + 2 * 3 + 3 * 5) / 6.0F);
  EXPECT_FLOAT_EQ(result[9], (-4 + 2 * 2 + 3 * 8) / 6.0F);
  EXPECT_FLOAT_EQ(result[10], 9 / std::sqrt(3.0F));
  std::vector<float> vector = {3, -4};
  normalize(vector);
  EXPECT_FLOAT_EQ(vector[0], 0.6F);
  EXPECT_FLOAT_EQ(vector[1], -0.8F);
  std::vector<float> none = {0, 0};
  normalize(none);
  EXPECT_EQ(none[0], 0);
}

}  // namespace
}  // namespace tilewright::text_lanes_test
