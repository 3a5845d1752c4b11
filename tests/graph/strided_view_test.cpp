#include "graph/ir/strided_view.h"

#include <gtest/gtest.h>

#include "graph/tensor/memory/strided_copy.h"

namespace tilewright::graph::strided_view_test {
namespace {

Attributes sizes(const Shape& shape) { return {.axes = {}, .sizes = shape}; }

TEST(StridedView, ReshapeJoinsAxesThatLieEvenly) {
  StridedView strided{{4, 3, 2}, {12, 2, 1}, 5};
  auto joined = view_of(Op::reshape, sizes({4, 6}), strided);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->strides, (Strides{12, 1}));
  EXPECT_EQ(joined->offset, 5);
  EXPECT_FALSE(view_of(Op::reshape, sizes({24}), strided));
  EXPECT_FALSE(view_of(Op::reshape, sizes({12, 2}), strided));
}

TEST(StridedView, ReshapeOfATransposeIsAViewOnlyWithinAxes) {
  StridedView transposed{{3, 4}, {1, 3}, 0};
  EXPECT_FALSE(view_of(Op::reshape, sizes({12}), transposed));
  auto split = view_of(Op::reshape, sizes({3, 2, 2}), transposed);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, (Strides{1, 6, 3}));
}

TEST(StridedView, ReshapeIgnoresAxesOfSizeOne) {
  StridedView x{{1, 4, 1}, {99, 2, 77}, 0};
  auto view = view_of(Op::reshape, sizes({2, 1, 2}), x);
  ASSERT_TRUE(view);
  EXPECT_EQ(element_offsets(*view), (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_TRUE(view_of(Op::reshape, sizes({1}), StridedView{{}, {}, 3}));
}

// Every reshape that is given as a view must see the elements that copying first would give.
TEST(StridedView, ReshapeSeesTheElementsThatACopyWouldHave) {
  const Shape shapes[] = {{24}, {2, 12}, {4, 6}, {2, 3, 4}, {1, 24, 1}, {2, 2, 3, 2}};
  const StridedView bases[] = {row_major({4, 6}),    {{4, 6}, {1, 4}, 0},
                               {{4, 6}, {12, 2}, 1}, {{2, 2, 6}, {6, 12, 1}, 0},
                               {{4, 6}, {0, 1}, 0},  {{4, 6}, {6, 0}, 2}};
  int views = 0;
  for (const StridedView& base : bases)
    for (const Shape& shape : shapes)
      if (auto view = view_of(Op::reshape, sizes(shape), base)) {
        ++views;
        EXPECT_EQ(element_offsets(*view), element_offsets(base));
      }
  EXPECT_GT(views, 15);
}

TEST(StridedView, SliceMovesTheOffsetAndStretchesTheStride) {
  Attributes attributes;
  attributes.axes = {1};
  attributes.start = 1;
  attributes.end = 6;
  attributes.step = 2;
  auto view = view_of(Op::slice, attributes, row_major({2, 6}));
  EXPECT_EQ(*view, (StridedView{{2, 3}, {6, 2}, 1}));
}

TEST(StridedView, ExpandRepeatsWithStrideZero) {
  auto view = view_of(Op::expand, sizes({2, 3}), row_major({2, 1}));
  EXPECT_EQ(element_offsets(*view), (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
}

TEST(StridedCopy, MovesEveryElementOfEachWidth) {
  StridedView from{{3, 4, 2}, {2, 6, 1}, 1}, to = row_major({3, 4, 2});
  std::vector<std::int64_t> source(40), wanted = element_offsets(from);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int64_t>(i);
  auto copied = [&](auto word) {
    using Word = decltype(word);
    std::vector<Word> in(source.begin(), source.end()), out(24);
    copy_elements(out.data(), to, in.data(), from, sizeof(Word));
    return std::vector<std::int64_t>(out.begin(), out.end());
  };
  EXPECT_EQ(copied(std::uint8_t{}), wanted);
  EXPECT_EQ(copied(std::uint16_t{}), wanted);
  EXPECT_EQ(copied(std::uint32_t{}), wanted);
  EXPECT_EQ(copied(std::uint64_t{}), wanted);
}

}  // namespace
}  // namespace tilewright::graph::strided_view_test
