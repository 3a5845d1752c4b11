// The search on kernels whose configurations were all measured.
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/database/row/statistics.h"
#include "tests/autotune/landscape.h"

namespace tilewright::autotune::landscapes_test {
namespace {

constexpr std::uint64_t seeds = 20;

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

TEST(MeasuredLandscapes, AreOfManyKernelsAndWhole) {
  std::vector<Landscape> all = measured_landscapes();
  EXPECT_GE(all.size(), 8U);
  for (const Landscape& landscape : all) {
    EXPECT_EQ(landscape.space.legal_points(100'000).size(), landscape.seconds.size());
    EXPECT_GE(landscape.seconds.size(), 150U) << landscape.name;
    EXPECT_EQ(landscape.seconds.at(landscape.preferred), 1) << landscape.name;
  }
}

TEST(MeasuredLandscapes, AreGuessedWithoutATrial) {
  std::vector<double> qualities;
  for (const Landscape& landscape : measured_landscapes())
    qualities.push_back(landscape.quality(untried_choice(landscape.problem())));
  RecordProperty("quality_of_0_trials", std::to_string(geometric_mean(qualities)));
  EXPECT_GE(geometric_mean(qualities), 0.85);
}

// Qualities of all landscapes by seed, their geometric means.
struct Qualities {
  std::vector<double> each, mean;
};
Qualities qualities_after(double trials, bool with_advice) {
  Qualities result;
  std::vector<Landscape> all = measured_landscapes();
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::vector<double> these;
    for (const Landscape& landscape : all)
      these.push_back(quality_after(with_advice ? landscape : landscape.without_advice(),
                                    "model_guided", trials, seed));
    result.each.insert(result.each.end(), these.begin(), these.end());
    result.mean.push_back(geometric_mean(these));
  }
  return result;
}

TEST(MeasuredLandscapes, AreSearchedInFewTrials) {
  Qualities after_32 = qualities_after(32, true), after_64 = qualities_after(64, true);
  RecordProperty("quality_of_32_trials", std::to_string(median(after_32.mean)));
  RecordProperty("quality_of_64_trials", std::to_string(median(after_64.mean)));
  RecordProperty("tenth_percentile", std::to_string(percentile(after_64.each, 0.1)));
  EXPECT_GE(median(after_32.mean), 0.95);
  EXPECT_GE(median(after_64.mean), 0.97);
  EXPECT_GE(percentile(after_64.each, 0.1), 0.95);
}

// The defaults are near the best already, and so are the estimates. Without them:
TEST(SlowMeasuredLandscapes, AreSearchedInFewTrialsFromNothing) {
  Qualities after_32 = qualities_after(32, false), after_64 = qualities_after(64, false);
  std::vector<double> guided, advised, chance;
  for (const Landscape& landscape : measured_landscapes())
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Landscape plain = landscape.without_advice(), estimated = landscape;
      estimated.preferred = plain.preferred;
      guided.push_back(trials_to_reach(plain, "model_guided", 0.97, seed));
      advised.push_back(trials_to_reach(estimated, "model_guided", 0.97, seed));
      chance.push_back(trials_to_reach(plain, "random", 0.97, seed));
    }
  RecordProperty("quality_of_32_trials", std::to_string(median(after_32.mean)));
  RecordProperty("quality_of_64_trials", std::to_string(median(after_64.mean)));
  RecordProperty("tenth_percentile", std::to_string(percentile(after_64.each, 0.1)));
  RecordProperty("share_of_random_trials", std::to_string(median(guided) / median(chance)));
  RecordProperty("share_with_estimates", std::to_string(median(advised) / median(chance)));
  RecordProperty("random_trials", std::to_string(median(chance)));
  EXPECT_GE(median(after_32.mean), 0.95);
  EXPECT_GE(median(after_64.mean), 0.97);
  EXPECT_GE(percentile(after_64.each, 0.1), 0.95);
  EXPECT_LE(median(advised), 0.35 * median(chance));
}

}  // namespace
}  // namespace tilewright::autotune::landscapes_test
