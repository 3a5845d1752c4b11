#include "graph/regions/access.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/property/seeds.h"

namespace tilewright::graph::index_map_test {
namespace {

StridedView placed(Shape shape, Strides strides, std::int64_t offset = 0) {
  return {std::move(shape), std::move(strides), offset};
}

TEST(IndexMap, MergesAxesThatAreEvenlySpaced) {
  EXPECT_EQ(index_map(row_major({2, 3, 4})), IndexMap({{24, 1}}));
  EXPECT_EQ(index_map(placed({2, 3, 4}, {24, 4, 1})), IndexMap({{12, 1}, {2, 24}}));
  EXPECT_EQ(index_map(placed({5, 1, 7}, {0, 9, 1})), IndexMap({{7, 1}, {5, 0}}));
}

TEST(IndexMap, GivesTheOffsetOfEveryElement) {
  StridedView transposed = placed({3, 2}, {1, 3});
  std::vector<std::int64_t> offsets = element_offsets(transposed);
  IndexMap map = index_map(transposed);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(map(i), offsets[static_cast<std::size_t>(i)]);
}

TEST(IndexMap, SplitsAxesIntoTwoMapsThatTogetherReachEverything) {
  Shape shape = {2, 3, 4};
  IndexMap columns = axes_map(shape, 1, 2), rows = other_axes_map(shape, 1, 2);
  std::vector<bool> seen(24);
  for (std::int64_t r = 0; r < 8; ++r)
    for (std::int64_t c = 0; c < 3; ++c)
      seen[static_cast<std::size_t>(rows(r) + columns(c))] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 24);
}

TEST(IndexMap, ComposesThroughATransposition) {
  // Rows of the transpose of a 4 x 6 matrix are its columns.
  IndexMap memory = index_map(placed({6, 4}, {1, 6}));
  EXPECT_EQ(compose(memory, axes_map({6, 4}, 1, 2)), IndexMap({{4, 6}}));
  EXPECT_EQ(compose(memory, axes_map({6, 4}, 0, 1)), IndexMap({{6, 1}}));
}

TEST(IndexMap, HasNoCompositionWhereAModeWouldBeCutUnevenly) {
  // Every fourth element of rows of 6 is not evenly spaced.
  EXPECT_EQ(compose(IndexMap({{6, 1}, {4, 10}}), IndexMap({{6, 4}})), std::nullopt);
}

// Random views, composed with random ways to number their elements.
TEST(IndexMap, CompositionIsTheFunctionOfTheFunction) {
  int composed = 0;
  for (std::uint64_t seed : seeds_of_test(2000)) {
    std::mt19937_64 random(seed);
    auto pick = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    std::vector<Mode> memory;
    std::int64_t size = 1;
    for (int i = 0; i < 3; ++i) {
      memory.push_back({pick(1, 6), pick(0, 20)});
      size *= memory.back().size;
    }
    // Another shape of as many elements, some axes of which are numbered.
    Shape shape(3, 1);
    for (std::int64_t factor = 2, left = size; left > 1; left % factor == 0 ? 0 : ++factor)
      for (; left % factor == 0; left /= factor) shape[static_cast<int>(pick(0, 2))] *= factor;
    int begin = static_cast<int>(pick(0, 3)), end = static_cast<int>(pick(begin, 3));
    IndexMap outer(memory),
        inner = seed % 2 == 0 ? axes_map(shape, begin, end) : other_axes_map(shape, begin, end);
    auto result = compose(outer, inner);
    if (!result) continue;
    ++composed;
    auto plain = [&](std::int64_t index) {
      std::int64_t offset = 0;
      for (const Mode& mode : memory) {
        offset += index % mode.size * mode.stride;
        index /= mode.size;
      }
      return offset;
    };
    for (std::int64_t i = 0; i < inner.size(); ++i)
      ASSERT_EQ((*result)(i), plain(inner(i))) << reproduction(seed);
  }
  bool all = seeds_of_test(2).size() == 2;
  EXPECT_TRUE(!all || composed > 500) << composed;
}

TEST(RowDigits, CutRowsSoThatEveryMapHasOneStrideADigit) {
  RowDigits digits(24);
  EXPECT_TRUE(digits.add(IndexMap({{4, 1}, {6, 100}})));
  EXPECT_TRUE(digits.add(IndexMap({{12, 5}, {2, 0}})));
  EXPECT_EQ(digits.sizes(), (std::vector<std::int64_t>{4, 3, 2}));
  EXPECT_EQ(digits.strides(IndexMap({{4, 1}, {6, 100}})), (std::vector<std::int64_t>{1, 100, 300}));
  EXPECT_EQ(digits.strides(IndexMap({{12, 5}, {2, 0}})), (std::vector<std::int64_t>{5, 20, 0}));
}

TEST(RowDigits, RefuseCutsThatDoNotNest) {
  RowDigits digits(24);
  EXPECT_TRUE(digits.add(IndexMap({{4, 1}, {6, 100}})));
  EXPECT_FALSE(digits.add(IndexMap({{6, 1}, {4, 100}})));
}

}  // namespace
}  // namespace tilewright::graph::index_map_test
