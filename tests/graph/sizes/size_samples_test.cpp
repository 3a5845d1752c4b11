// Numbers that follow from a size, and what samples of a few sizes interpolate.
#include "graph/sizes/size_samples.h"

#include <gtest/gtest.h>

#include <limits>

#include "graph/sizes/size_polynomial.h"

namespace tilewright::graph::size_samples_test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::optional<std::int64_t> at(const Numbers& sizes, const Numbers& values, std::int64_t size) {
  const std::optional<SizePolynomial> polynomial = SizePolynomial::through(sizes, values);
  return polynomial ? polynomial->at(size) : std::nullopt;
}

TEST(SizePolynomial, GoesThroughSamplesThatConfirmIt) {
  EXPECT_EQ(at({2, 3, 7, 9}, {4, 4, 4, 4}, 100), 4);
  EXPECT_EQ(at({2, 3, 7}, {7, 10, 22}, 100), 301);       // 3 n + 1
  EXPECT_EQ(at({2, 3, 7, 9}, {2, 6, 42, 72}, 11), 110);  // n (n - 1)
  EXPECT_EQ(at({2, 4, 8, 16}, {1, 2, 4, 8}, 6), 3);      // n / 2
  EXPECT_EQ(at({1, 2, 3, 4, 5, 6}, {1, 16, 81, 256, 625, 1296}, 10), 10000);
}

TEST(SizePolynomial, IsNoneWithoutAConfirmation) {
  EXPECT_EQ(at({2, 3}, {7, 10}, 100), std::nullopt);
  EXPECT_EQ(at({2, 3, 7}, {2, 6, 42}, 11), std::nullopt);
  EXPECT_EQ(at({16, 17, 31, 33, 48}, {1, 2, 2, 3, 3}, 40), std::nullopt);  // blocks of 16
}

TEST(SizePolynomial, IsNoneForWhatIsNoInteger) {
  EXPECT_EQ(at({2, 4, 8, 16}, {1, 2, 4, 8}, 7), std::nullopt);
  const std::int64_t large = std::numeric_limits<std::int64_t>::max() / 8;
  EXPECT_EQ(at({1, 2, 4}, {large, 2 * large, 4 * large}, 8), 8 * large);
  EXPECT_EQ(at({1, 2, 4}, {large, 2 * large, 4 * large}, 9), std::nullopt);
}

Hash form(std::uint64_t number) { return {number, number}; }

// A matrix of 3 rows more than the size: rows, elements, and a constant.
SizeSample sample_of(std::int64_t size, std::uint64_t form_number = 1, std::int64_t width = 8) {
  return {{size, width, size * width}, {size + 3, (size + 3) * width, 5}, form(form_number)};
}
std::optional<Numbers> interpolated(SizeSamples& samples, std::int64_t size,
                                    std::int64_t width = 8) {
  const auto found = samples.interpolate(sample_of(size, 1, width).given);
  return found ? std::optional(found->made) : std::nullopt;
}

TEST(SizeSamples, InterpolateSizesBetweenThem) {
  SizeSamples samples;
  for (std::int64_t size : {10, 50, 21}) samples.add(sample_of(size));
  EXPECT_EQ(interpolated(samples, 30), std::nullopt);
  samples.add(sample_of(40));
  EXPECT_EQ(interpolated(samples, 30), sample_of(30).made);
  EXPECT_EQ(interpolated(samples, 11), sample_of(11).made);
  EXPECT_EQ(interpolated(samples, 9), std::nullopt);
  EXPECT_EQ(interpolated(samples, 51), std::nullopt);
  EXPECT_EQ(interpolated(samples, 50), sample_of(50).made);  // itself
}

TEST(SizeSamples, InterpolateNothingBesideAnotherForm) {
  SizeSamples samples;
  for (std::int64_t size : {10, 12, 13, 16, 30, 32, 33, 36}) samples.add(sample_of(size));
  samples.add(sample_of(20, 2));
  EXPECT_EQ(interpolated(samples, 15), sample_of(15).made);
  EXPECT_EQ(interpolated(samples, 18), std::nullopt);
  EXPECT_EQ(interpolated(samples, 25), std::nullopt);
  EXPECT_EQ(interpolated(samples, 31), sample_of(31).made);
}

TEST(SizeSamples, AreLinesAlongEachSize) {
  SizeSamples samples;
  for (std::int64_t width : {8, 9})
    for (std::int64_t size : {10, 21, 30, 40}) samples.add(sample_of(size, 1, width));
  EXPECT_EQ(interpolated(samples, 25, 9), sample_of(25, 1, 9).made);
  EXPECT_EQ(interpolated(samples, 25, 8), sample_of(25, 1, 8).made);
  EXPECT_EQ(interpolated(samples, 25, 10), std::nullopt);
}

TEST(SizeSamples, InterpolateNothingForAGraphOffTheLine) {
  SizeSamples samples;
  for (std::int64_t size : {10, 21, 30, 40}) samples.add(sample_of(size));
  EXPECT_TRUE(samples.interpolate(Numbers{25, 8, 200}).has_value());
  EXPECT_FALSE(samples.interpolate(Numbers{25, 8, 201}).has_value());
}

TEST(SizeSamples, InterpolateNothingWhereANumberIsNoPolynomial) {
  SizeSamples samples;
  for (std::int64_t size : {10, 21, 30, 40, 50}) {
    SizeSample sample = sample_of(size);
    sample.made[2] = (size + 15) / 16;
    samples.add(std::move(sample));
  }
  EXPECT_EQ(interpolated(samples, 25), std::nullopt);
}

// Blocks of 64 look like the size itself at their multiples.
TEST(SizeSamples, InterpolateNothingBetweenTheStepsTheyLieIn) {
  SizeSamples samples;
  for (std::int64_t size : {64, 128, 192, 320}) {
    SizeSample sample = sample_of(size);
    sample.made[2] = (size + 63) / 64 * 64;
    samples.add(std::move(sample));
  }
  for (std::int64_t size : {65, 100, 224, 257})
    EXPECT_EQ(interpolated(samples, size), std::nullopt);
  ASSERT_TRUE(interpolated(samples, 256).has_value());
  EXPECT_EQ(interpolated(samples, 256)->at(2), 256);
}

TEST(SizeSamples, ReplaceWhatWasGivenTheSame) {
  SizeSamples samples;
  for (std::int64_t size : {10, 21, 30, 40, 21}) samples.add(sample_of(size));
  EXPECT_EQ(samples.size(), 4U);
  EXPECT_EQ(interpolated(samples, 25), sample_of(25).made);
}

TEST(SizeSamples, KeepTheLatest) {
  SizeSamples samples;
  for (std::int64_t size = 1; size <= 100; ++size) samples.add(sample_of(10 * size + size % 2));
  EXPECT_EQ(samples.size(), SizeSamples::most);
  EXPECT_EQ(interpolated(samples, 995), sample_of(995).made);
  EXPECT_EQ(interpolated(samples, 15), std::nullopt);
}

}  // namespace
}  // namespace tilewright::graph::size_samples_test
