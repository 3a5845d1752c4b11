#include "models/generate/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::sampling_test {
namespace {

using ::testing::HasSubstr;
using Logits = std::vector<float>;

std::map<TokenId, int> histogram(const SamplingOptions& options, const Logits& logits,
                                 int count = 20'000) {
  Sampler sampler(options);
  std::map<TokenId, int> counts;
  for (int i = 0; i < count; ++i) ++counts[sampler.choose(logits)];
  return counts;
}
Logits log_of(const std::vector<double>& probabilities) {
  Logits logits;
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}
// One in a thousand right samplers fails; the seeds are fixed.
void expect_distribution(const std::map<TokenId, int>& counts,
                         const std::map<TokenId, double>& probabilities) {
  int total = 0;
  for (auto [id, count] : counts) total += count;
  double chi_square = 0;
  for (auto [id, probability] : probabilities) {
    auto found = counts.find(id);
    double expected = probability * total, seen = found == counts.end() ? 0 : found->second;
    chi_square += (seen - expected) * (seen - expected) / expected;
  }
  EXPECT_EQ(counts.size(), probabilities.size());
  EXPECT_LT(chi_square, 22.5);  // up to 6 degrees of freedom
}

TEST(Sampler, TemperatureZeroTakesTheFirstGreatest) {
  EXPECT_EQ(Sampler({}).choose(Logits{1, 3, 2, 3}), 1);
  EXPECT_EQ(Sampler({}).choose(Logits{-INFINITY, -5}), 1);
}

TEST(Sampler, DrawsInProportionToProbability) {
  expect_distribution(histogram({.temperature = 1, .seed = 1}, log_of({0.5, 0.2, 0.2, 0.1})),
                      {{0, 0.5}, {1, 0.2}, {2, 0.2}, {3, 0.1}});
}

TEST(Sampler, MinPLeavesTokensWithAShareOfTheGreatestProbability) {
  expect_distribution(
      histogram({.temperature = 1, .min_p = 0.4, .seed = 3}, log_of({0.5, 0.1, 0.25, 0.15})),
      {{0, 2.0 / 3}, {2, 1.0 / 3}});
}

TEST(Sampler, PenaltiesAndBiasesChangeLogits) {
  const Logits logits = {2, 1.5, -1, 1.25};
  auto after = [&](const SamplingOptions& options, const std::vector<TokenId>& prompt,
                   const std::vector<TokenId>& behind) {
    Sampler sampler(options);
    sampler.see_prompt(prompt);
    for (TokenId id : behind) sampler.see(id);
    return sampler.choose(logits);
  };
  EXPECT_EQ(after({.repetition_penalty = 1.5}, {}, {}), 0);
  EXPECT_EQ(after({.repetition_penalty = 1.5}, {0}, {}), 1) << "2 / 1.5 is less than 1.5";
  EXPECT_EQ(after({.repetition_penalty = 1.5}, {}, {0, 0, 1}), 0) << "2 / 1.5, 1.5 / 1.5, 1.25";
  EXPECT_EQ(after({.presence_penalty = 0.6}, {0}, {}), 0) << "of new tokens alone";
  EXPECT_EQ(after({.presence_penalty = 0.6}, {}, {0, 0}), 1);
  EXPECT_EQ(after({.frequency_penalty = 0.2}, {}, {0, 0}), 0) << "1.6 and 1.5";
  EXPECT_EQ(after({.frequency_penalty = 0.2}, {}, {0, 0, 0, 1}), 0) << "1.4, 1.3, 1.25";
  EXPECT_EQ(after({.frequency_penalty = 0.2}, {}, {0, 0, 0}), 1);
  EXPECT_EQ(after({.logit_bias = {{2, 4}, {9, 100}}}, {}, {}), 2);
  EXPECT_EQ(after({.repetition_penalty = 2, .logit_bias = {{2, 2.5}}}, {2, 0}, {}), 1)
      << "the bias comes first: 1.5 / 2 and 2 / 2 are less than 1.5";
}

TEST(Sampler, StreamsOfASeedDiffer) {
  const Logits logits = log_of(std::vector<double>(64, 1.0 / 64));
  auto drawn = [&](std::uint64_t stream) {
    Sampler sampler({.temperature = 1, .seed = 5}, stream);
    std::vector<TokenId> ids;
    for (int i = 0; i < 8; ++i) ids.push_back(sampler.choose(logits));
    return ids;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(0), drawn(1));
}

TEST(Sampler, RefusesMinPPenaltiesAndBiasesThatAreNone) {
  auto error = [](const SamplingOptions& options) { return error_of([&] { Sampler{options}; }); };
  EXPECT_THAT(error({.min_p = 1.5}), HasSubstr("[sample] min_p is 1.5; from 0"));
  EXPECT_THAT(error({.repetition_penalty = 0}), HasSubstr("repetition_penalty is 0; a number"));
  EXPECT_THAT(error({.presence_penalty = INFINITY}), HasSubstr("presence_penalty is inf"));
  EXPECT_THAT(error({.logit_bias = {{-1, 2}}}), HasSubstr("the bias of token -1 is 2"));
}

TEST(Sampler, TemperatureSharpensOrFlattens) {
  auto powers = [](double exponent) {
    std::map<TokenId, double> result{{0, 0.6}, {1, 0.3}, {2, 0.1}};
    double total = 0;
    for (auto& [id, p] : result) total += p = std::pow(p, exponent);
    for (auto& [id, p] : result) p /= total;
    return result;
  };
  Logits logits = log_of({0.6, 0.3, 0.1});
  expect_distribution(histogram({.temperature = 0.5, .seed = 2}, logits), powers(2));
  expect_distribution(histogram({.temperature = 2, .seed = 3}, logits), powers(0.5));
}

TEST(Sampler, TopKKeepsTheKMostLikely) {
  Logits logits = log_of({0.1, 0.4, 0.2, 0.3});
  expect_distribution(histogram({.temperature = 1, .top_k = 2, .seed = 4}, logits),
                      {{1, 4 / 7.0}, {3, 3 / 7.0}});
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 1}, logits).size(), 1U);
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 99}, logits).size(), 4U);
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 2}, Logits{1, 1, 1}).count(2), 0U);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesP) {
  Logits logits = log_of({0.1, 0.45, 0.15, 0.3});
  expect_distribution(histogram({.temperature = 1, .top_p = 0.7, .seed = 5}, logits),
                      {{1, 0.6}, {3, 0.4}});
  EXPECT_EQ(histogram({.temperature = 1, .top_p = 1e-9}, logits).size(), 1U);
}

TEST(Sampler, TopKAppliesBeforeTopP) {
  // The first of the two kept has 0.6 of the remaining probability and suffices for p = 0.5.
  auto counts =
      histogram({.temperature = 1, .top_k = 2, .top_p = 0.5}, log_of({0.3, 0.2, 0.2, 0.15, 0.15}));
  EXPECT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts.count(0), 1U);
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  Logits logits(100, 0);
  Sampler a({.temperature = 1, .seed = 9}), b({.temperature = 1, .seed = 9}),
      c({.temperature = 1, .seed = 10});
  int differing = 0;
  for (int i = 0; i < 100; ++i) {
    TokenId chosen = a.choose(logits);
    EXPECT_EQ(b.choose(logits), chosen);
    differing += c.choose(logits) != chosen;
  }
  EXPECT_GT(differing, 80);
}

TEST(Sampler, NeverTakesWhatHasNoProbability) {
  auto counts = histogram({.temperature = 5}, Logits{0, -INFINITY, 0});
  EXPECT_EQ(counts.count(1), 0U);
}

TEST(Sampler, RefusesOptionsOutsideTheirRangesAndNan) {
  EXPECT_THAT(error_of([] { Sampler({.temperature = -1}); }),
              HasSubstr("[sample] temperature is -1; 0 (greedy) or more"));
  EXPECT_THAT(error_of([] { Sampler({.temperature = NAN}); }), HasSubstr("temperature is nan"));
  EXPECT_THAT(error_of([] { Sampler({.top_k = -1}); }), HasSubstr("top_k is -1"));
  EXPECT_THAT(error_of([] { Sampler({.top_p = 0}); }), HasSubstr("top_p is 0"));
  EXPECT_THAT(error_of([] { Sampler({.top_p = 1.5}); }), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(error_of([] {
                Sampler({}).choose(Logits{1, NAN});
              }),
              HasSubstr("[sample] logit 1 is NaN"));
  EXPECT_THAT(error_of([] { Sampler({}).choose({}); }), HasSubstr("there are no logits"));
}

}  // namespace
}  // namespace tilewright::sampling_test
