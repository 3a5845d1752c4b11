// The search on kernels whose configurations were all measured.
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/measure/statistics.h"
#include "tests/autotune/landscape.h"

namespace tilewright::autotune {
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

TEST(SlowMeasuredLandscapes, AreSearchedInFewTrials) {
  std::vector<double> after_32(seeds), after_64(seeds), each, guided, chance;
  std::vector<Landscape> all = measured_landscapes();
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::vector<double> of_32, of_64;
    for (const Landscape& landscape : all) {
      of_32.push_back(quality_after(landscape, "model_guided", 32, seed));
      of_64.push_back(quality_after(landscape, "model_guided", 64, seed));
      guided.push_back(trials_to_reach(landscape, "model_guided", 0.97, seed));
      chance.push_back(trials_to_reach(landscape, "random", 0.97, seed));
    }
    each.insert(each.end(), of_64.begin(), of_64.end());
    after_32[seed] = geometric_mean(of_32);
    after_64[seed] = geometric_mean(of_64);
  }
  RecordProperty("quality_of_32_trials", std::to_string(median(after_32)));
  RecordProperty("quality_of_64_trials", std::to_string(median(after_64)));
  RecordProperty("tenth_percentile_of_64_trials", std::to_string(percentile(each, 0.1)));
  RecordProperty("share_of_random_trials", std::to_string(median(guided) / median(chance)));
  EXPECT_GE(median(after_32), 0.95);
  EXPECT_GE(median(after_64), 0.97);
  EXPECT_GE(percentile(after_64, 0.1), 0.95);
  EXPECT_GE(percentile(each, 0.1), 0.95);  // of single searches
  EXPECT_LE(median(guided), 0.35 * median(chance));
}

}  // namespace
}  // namespace tilewright::autotune
