#include "models/layers/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::random_test {
namespace {

// The numbers were computed by another implementation of SplitMix64.
TEST(RandomStream, GivesTheSameNumbersOnEveryPlatform) {
  RandomStream stream(42);
  for (std::uint64_t expected :
       {14241928491073317330ULL, 7040222520599051659ULL, 13020563333957079210ULL})
    EXPECT_EQ(stream.next(), expected);
  EXPECT_NE(RandomStream(42, 0).next(), RandomStream(42, 1).next());
  EXPECT_NE(RandomStream(42, 0).next(), RandomStream(43, 0).next());
}

TEST(RandomStream, IsUniformAndNormal) {
  RandomStream stream(7);
  constexpr int count = 200'000;
  std::array<int, 20> bins{};
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    double u = stream.uniform(), n = stream.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    ++bins[static_cast<std::size_t>(u * 20)];
    sum += n;
    squares += n * n;
  }
  double chi_square = 0, expected = count / 20.0;
  for (int bin : bins) chi_square += (bin - expected) * (bin - expected) / expected;
  EXPECT_LT(chi_square, 43.8);  // 19 degrees of freedom, one in a thousand
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST(RandomStream, ManualSeedRepeatsTheStreamsThatFollow) {
  manual_seed(5);
  std::uint64_t first = next_random_stream().next(), second = next_random_stream().next();
  EXPECT_NE(first, second);
  manual_seed(5);
  EXPECT_EQ(next_random_stream().next(), first);
  EXPECT_EQ(next_random_stream().next(), second);
}

TEST(Fill, WritesFloatingTensorsOfAnyWidth) {
  Tensor wide = Tensor::empty({1000}), narrow = Tensor::empty({1000}, bf16);
  fill_uniform(wide, -2, 3, RandomStream(1));
  fill_uniform(narrow, -2, 3, RandomStream(1));
  auto a = wide.to_vector<float>();
  auto b = narrow.to_vector<BFloat16>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i] >= -2 && a[i] <= 3);
    ASSERT_NEAR(a[i], static_cast<float>(b[i]), 3 * 0x1p-8);
  }
  Tensor ids = Tensor::empty({2}, i32);
  EXPECT_THAT(error_of([&] { fill_value(ids, 1); }),
              ::testing::HasSubstr("[fill] a tensor of i32 2; a contiguous floating tensor"));
}

}  // namespace
}  // namespace tilewright::random_test
