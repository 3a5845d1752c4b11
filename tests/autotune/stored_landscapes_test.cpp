#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "autotune/measure/statistics.h"
#include "tests/autotune/landscape.h"

namespace tilewright::autotune {
namespace {

// On measurements of every configuration of kernels of GPT-2 and Llama on a processor, which the
// search cannot have been made for alone: twenty seeds a kernel.
class StoredLandscapes : public ::testing::Test {
 protected:
  std::vector<Landscape> landscapes_ = stored_landscapes();
  static constexpr std::uint64_t seeds = 20;
  static std::string percent(double share) {
    return std::to_string(std::lround(1000 * share) / 10.0);
  }
};

TEST_F(StoredLandscapes, AreEnough) {
  EXPECT_GE(landscapes_.size(), 8u);
  for (const Landscape& landscape : landscapes_) EXPECT_GE(landscape.seconds.size(), 30u);
}

TEST_F(StoredLandscapes, AreNearTheirBestByTheEstimateAlone) {
  std::vector<double> qualities;
  for (const Landscape& landscape : landscapes_) {
    qualities.push_back(landscape.quality(untried_choice(landscape.problem())));
    std::printf("%-40s %4zu points, default %.3f, estimate %.3f of the best\n",
                landscape.name.c_str(), landscape.seconds.size(),
                landscape.quality(landscape.preferred), qualities.back());
  }
  RecordProperty("untried", percent(geometric_mean(qualities)));
  EXPECT_GE(geometric_mean(qualities), 0.85);
}

TEST_F(StoredLandscapes, AreNearTheirBestAfterFewTrials) {
  for (auto [trials, least_median, least_tenth] :
       {std::tuple(32, 0.95, 0.0), std::tuple(64, 0.97, 0.95)}) {
    std::vector<double> medians, tenths;
    for (const Landscape& landscape : landscapes_) {
      std::vector<double> runs;
      for (std::uint64_t seed = 0; seed < seeds; ++seed)
        runs.push_back(quality_after(landscape, "model_guided", trials, seed));
      medians.push_back(median(runs));
      tenths.push_back(quantile(runs, 0.1));
    }
    std::printf("%d trials: median %.4f, tenth percentile %.4f of the best\n", trials,
                geometric_mean(medians), geometric_mean(tenths));
    EXPECT_GE(geometric_mean(medians), least_median);
    EXPECT_GE(geometric_mean(tenths), least_tenth);
  }
}

TEST_F(StoredLandscapes, NeedFewerTrialsThanByChance) {
  std::vector<double> ratios;
  for (const Landscape& landscape : landscapes_) {
    std::vector<double> guided, chance;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      guided.push_back(trials_to_reach(landscape, "model_guided", 0.97, seed));
      chance.push_back(trials_to_reach(landscape, "random", 0.97, seed));
    }
    ratios.push_back(median(guided) / median(chance));
    std::printf("%-40s %5.1f trials to 0.97, by chance %5.1f\n", landscape.name.c_str(),
                median(guided), median(chance));
  }
  std::printf("share of trials: %.3f\n", geometric_mean(ratios));
  EXPECT_LE(geometric_mean(ratios), 0.35);
}

}  // namespace
}  // namespace tilewright::autotune
