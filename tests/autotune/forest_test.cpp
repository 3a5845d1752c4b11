#include "autotune/search/forest.h"

#include <gtest/gtest.h>

namespace tilewright::autotune::forest_test {
namespace {

TEST(Forest, LearnsARegionAndIsSurerInsideIt) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  auto is_good = [](double x, double y) { return x > 0.6 && y < 0.4; };
  std::vector<Sample> samples;
  for (int i = 0; i < 200; ++i) {
    double x = uniform(random), y = uniform(random);
    samples.push_back({{x, y, uniform(random)}, is_good(x, y)});
  }
  Forest forest(samples, 32, 5, random);
  int right = 0;
  for (int i = 0; i < 500; ++i) {
    double x = uniform(random), y = uniform(random);
    right += (forest.probability({x, y, uniform(random)}) > 0.5) == is_good(x, y);
  }
  EXPECT_GT(right, 450);
}

TEST(Forest, OfOneKindOrEqualSamplesIsFlat) {
  std::mt19937_64 random(1);
  Forest bad({{{1, 2}, false}, {{3, 4}, false}}, 8, 3, random);
  EXPECT_LT(bad.probability({1, 2}), 0.5);
  EXPECT_EQ(bad.probability({1, 2}), bad.probability({9, 9}));
  Forest equal({{{1}, true}, {{1}, false}}, 64, 3, random);
  EXPECT_NEAR(equal.probability({1}), 0.5, 0.15);
}

TEST(Forest, HeedsWeights) {
  std::mt19937_64 random(1);
  std::vector<Sample> samples(20, Sample{{1}, false, 1});
  samples.resize(40, Sample{{1}, true, 10});
  EXPECT_GT(Forest(samples, 32, 3, random).probability({1}), 0.8);
}

}  // namespace
}  // namespace tilewright::autotune::forest_test
