// Parts and places of a whole that are shown to be of different elements.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/regions/reference/overlap.h"
#include "tests/graph/complaints.h"

namespace tilewright::graph::overlap_test {
namespace {

using namespace testing_tasks;

TEST(VerifyTasks, PartsOfAWholeAreShownToBeApart) {
  Task a, b;
  a.kind = b.kind = TaskKind::pointwise;
  a.storage = b.storage = 0;
  a.place = {{4, 3}, {8, 1}, 0};
  b.place = {{4, 5}, {8, 1}, 3};
  EXPECT_TRUE(write_apart(a, b));
  EXPECT_TRUE(write_apart(b, a));
  b.place.offset = 2;
  EXPECT_FALSE(write_apart(a, b));
  // Beyond the end of a row of 8 the second part is in the next row.
  b.place = {{4, 5}, {8, 1}, 4};
  EXPECT_FALSE(write_apart(a, b));
  // Scattered to rows that are not known, parts along another axis are apart.
  a.kind = b.kind = TaskKind::scatter;
  a.scatter_axis = b.scatter_axis = 0;
  a.scatter_size = b.scatter_size = 10;
  a.scatter_stride = b.scatter_stride = 8;
  a.place = {{4, 3}, {0, 1}, 0};
  b.place = {{4, 5}, {0, 1}, 3};
  EXPECT_TRUE(write_apart(a, b));
  b.place = {{4, 3}, {0, 1}, 8};
  EXPECT_FALSE(write_apart(a, b));
}

TEST(VerifyTasks, PlacesAreOfDifferentElements) {
  EXPECT_TRUE(is_injective({{4, 3}, {5, 2}, 0}));   // every second of five, the last among them
  EXPECT_FALSE(is_injective({{4, 3}, {4, 2}, 0}));  // the last is the first of the next row
  EXPECT_TRUE(is_injective({{2, 3}, {1, 2}, 0}));   // pairs beside each other
  EXPECT_FALSE(is_injective({{3, 3}, {1, 2}, 0}));
  EXPECT_FALSE(is_injective({{4, 1}, {0, 1}, 0}));
  EXPECT_TRUE(is_injective({{4, 3}, {-3, 1}, 9}));
  EXPECT_TRUE(is_injective({{4, 0}, {0, 1}, 0}));
  // Sums of several axes: 0 to 5 in steps of 1 and 2 and 3 are not apart.
  EXPECT_FALSE(is_injective({{2, 2, 2}, {3, 2, 1}, 0}));
  EXPECT_TRUE(is_injective({{2, 2, 2}, {4, 2, 1}, 0}));
}

TEST(VerifyTasks, AddressesOfDifferentElementsAreFoundAsByEachElement) {
  std::mt19937_64 chance(7);
  for (int each = 0; each < 2000; ++each) {
    auto size = [&] { return static_cast<std::int64_t>(chance() % 4); };
    auto stride = [&] { return static_cast<std::int64_t>(chance() % 25) - 12; };
    const StridedView view{{size(), size(), size()}, {stride(), stride(), stride()}, 0};
    std::set<std::int64_t> seen;
    bool once = true;
    for (std::int64_t i = 0; i < view.shape[0]; ++i)
      for (std::int64_t j = 0; j < view.shape[1]; ++j)
        for (std::int64_t k = 0; k < view.shape[2]; ++k)
          once &=
              seen.insert(i * view.strides[0] + j * view.strides[1] + k * view.strides[2]).second;
    EXPECT_LE(is_injective(view), once) << view.shape << " of strides " << view.strides;
  }
}

}  // namespace
}  // namespace tilewright::graph::overlap_test
