#include "dsl/layout/shared.h"

#include <gtest/gtest.h>

#include <set>

#include "dsl/layout/layout.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::layout::shared_test {
namespace {

// The offset of every element of a matrix must be that of the formula, and no two the same.
template <typename F>
void expect_offsets(const SharedLayout& shared, F&& formula) {
  std::set<std::int64_t> met;
  int rows = static_cast<int>(shared.shape()[0]), columns = static_cast<int>(shared.shape()[1]);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      std::int64_t offset = shared.offset({row, column});
      ASSERT_EQ(offset, formula(row, column)) << row << " " << column << "\n" << to_string(shared);
      ASSERT_TRUE(met.insert(offset).second);
      ASSERT_LT(offset, shared.size_bytes());
      std::uint64_t flat = static_cast<std::uint64_t>(row * columns + column);
      ASSERT_EQ(shared.offset_matrix().apply(flat), static_cast<std::uint64_t>(offset));
    }
}

TEST(SharedLayout, RowMajorCountsElementsByRows) {
  expect_offsets(SharedLayout::row_major({8, 32}, 2),
                 [](int row, int column) { return (row * 32 + column) * 2; });
}

TEST(SharedLayout, AnXorSwizzleExchangesChunksOfARow) {
  for (auto [vec, per_phase, max_phase] :
       {std::array{8, 1, 8}, {4, 2, 4}, {1, 1, 32}, {16, 4, 2}, {8, 1, 1}})
    expect_offsets(
        SharedLayout::xor_swizzled({64, 64}, 4, vec, per_phase, max_phase),
        [&, vec = vec, per_phase = per_phase, max_phase = max_phase](int row, int column) {
          int chunk = (column / vec) ^ ((row / per_phase) % max_phase);
          return (row * 64 + chunk * vec + column % vec) * 4;
        });
}

// From the manual: in a box, 16-byte chunk j of row i lies at j ^ (i % 8) with 128 bytes a row, at
// j ^ ((i / 2) % 4) with 64, at j ^ ((i / 4) % 2) with 32.
TEST(SharedLayout, TmaSwizzlesBoxesOfItsWidth) {
  for (int element_bytes : {1, 2, 4})
    for (int width : {32, 64, 128}) {
      SharedLayout shared = SharedLayout::tma({32, 128}, element_bytes, width);
      EXPECT_EQ(shared.swizzle_bytes(), width);
      expect_offsets(shared, [&](int row, int column) {
        int byte = column * element_bytes, box = byte / width, chunk = byte % width / 16;
        int phase = width == 128 ? row % 8 : width == 64 ? row / 2 % 4 : row / 4 % 2;
        return box * 32 * width + row * width + (chunk ^ phase) * 16 + byte % 16;
      });
    }
}

TEST(SharedLayout, PermutedIsTheSameMemory) {
  SharedLayout shared = SharedLayout::tma({16, 64}, 2, 128);
  SharedLayout turned = permute(shared, {1, 0});
  expect_offsets(turned, [&](int row, int column) { return shared.offset({column, row}); });
  SharedLayout cube = SharedLayout::row_major({2, 4, 8}, 2);
  EXPECT_EQ(permute(cube, {2, 0, 1}).offset({7, 1, 2}), cube.offset({1, 2, 7}));
}

TEST(SharedLayout, IsAValue) {
  SharedLayout shared = SharedLayout::tma({16, 64}, 2, 128);
  EXPECT_EQ(shared, SharedLayout::tma({16, 64}, 2, 128));
  EXPECT_EQ(shared.hash(), SharedLayout::tma({16, 64}, 2, 128).hash());
  EXPECT_NE(shared, SharedLayout::tma({16, 64}, 2, 64));
  EXPECT_NE(shared.hash(), SharedLayout::row_major({16, 64}, 2).hash());
  EXPECT_EQ(to_string(SharedLayout::xor_swizzled({2, 4}, 4, 1, 1, 2)),
            "2x4 of 4 bytes\noffset:  4 8 20\n");
}

TEST(SharedLayout, RefusesSwizzlesThatDoNotFit) {
  EXPECT_THROW(SharedLayout::xor_swizzled({8, 8}, 4, 4, 1, 4), InternalError);
  EXPECT_THROW(SharedLayout::tma({8, 32}, 2, 128), InternalError);
  EXPECT_THROW(SharedLayout::tma({8, 32}, 2, 48), InternalError);
  EXPECT_THROW(SharedLayout::linear({4}, 2, BitMatrix(2, {1, 1})), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::shared_test
