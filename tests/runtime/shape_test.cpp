#include "runtime/base/shape.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/errors.h"

namespace tilewright::shape_test {
namespace {

TEST(Shape, PrintsItsSizesAndNamesTheEmptyOneScalar) {
  EXPECT_EQ(to_string(Shape{4, 8}), "4x8");
  EXPECT_EQ(to_string(Shape{7}), "7");
  EXPECT_EQ(concat(Shape{}), "scalar");
}

TEST(Shape, NegativeAxesCountFromTheEnd) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 2);
  shape[-2] = 9;
  EXPECT_EQ(shape, (Shape{2, 9, 5}));
}

TEST(Shape, SaysWhichAxisIsNotThere) {
  const Shape shape{2, 3}, scalar;
  auto error = [](const Shape& of, int axis) { return error_of([&] { return of[axis]; }); };
  EXPECT_EQ(error(shape, 2),
            "[shape] axis 2 of a tensor of rank 2 (2x3); the axis must be in [-2, 2)");
  expect_contains(error(shape, -3), "axis -3 of a tensor of rank 2");
  expect_contains(error(scalar, 0), "axis 0 of a tensor of rank 0 (scalar)");
  expect_contains(error(scalar, -1), "axis -1 of a tensor of rank 0");
  expect_contains(error_of([&] { return scalar.back(); }), "axis -1 of a tensor of rank 0");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 5}), 30);
  EXPECT_EQ(element_count({4, 0, 2}), 0);
  EXPECT_EQ(element_count({1 << 20, 1 << 20}), std::int64_t{1} << 40);
}

TEST(Shape, SizesWhoseProductIsTooLargeAreAnErrorUnlessOneIsNone) {
  constexpr std::int64_t large = std::int64_t{1} << 62;
  expect_contains(error_of([] {
                    element_count({2, large, 1});
                  }),
                  "[shape] 2x4611686018427387904x1 has 2^63 elements or more");
  EXPECT_EQ(element_count({large, large, 0}), 0);
  EXPECT_EQ(element_count({0, large, large}), 0);
  Shape nothing{0, large, large, 3};
  EXPECT_TRUE(is_row_major(nothing, row_major_strides(nothing)));
}

TEST(Shape, RowMajorStridesNumberTheElementsInOrder) {
  Shape shape{2, 3, 4};
  Strides strides = row_major_strides(shape);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t k = 0; k < 4; ++k)
        EXPECT_EQ(i * strides[0] + j * strides[1] + k * strides[2], next++);
}

TEST(Shape, RowMajorIsKnownWhateverTheStridesOfAxesOfSizeOne) {
  EXPECT_TRUE(is_row_major({2, 3}, {3, 1}));
  EXPECT_TRUE(is_row_major({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(is_row_major({}, {}));
  EXPECT_FALSE(is_row_major({2, 3}, {1, 2}));
  EXPECT_FALSE(is_row_major({2, 3}, {0, 1}));
  EXPECT_FALSE(is_row_major({2, 3}, {4, 1}));
}

TEST(Shape, BroadcastingFollowsNumpy) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {2, 2}), (Shape{2, 2}));
  EXPECT_EQ(broadcast_shapes({5, 1, 2}, {7, 1}), (Shape{5, 7, 2}));
  EXPECT_EQ(broadcast_shapes({0}, {1}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes({3}, {4}), std::nullopt);
  EXPECT_EQ(broadcast_shapes({2, 0}, {2, 3}), std::nullopt);
}

TEST(Shape, BroadcastingIsCommutativeAndAssociative) {
  std::mt19937 random(1);
  auto any = [&] {
    Shape shape(static_cast<std::size_t>(random() % 4));
    for (std::int64_t& size : shape) size = random() % 3 == 0 ? 1 : 2 + random() % 2;
    return shape;
  };
  for (int i = 0; i < 2000; ++i) {
    Shape a = any(), b = any(), c = any();
    auto ab = broadcast_shapes(a, b), bc = broadcast_shapes(b, c);
    ASSERT_EQ(ab, broadcast_shapes(b, a));
    auto left = ab ? broadcast_shapes(*ab, c) : std::nullopt;
    auto right = bc ? broadcast_shapes(a, *bc) : std::nullopt;
    ASSERT_EQ(left, right) << a << " " << b << " " << c;
  }
}

TEST(Shape, AxesOutsideTheRankAreNoAxes) {
  EXPECT_EQ(normalise_axis(-1, 3), 2);
  EXPECT_EQ(normalise_axis(0, 3), 0);
  EXPECT_EQ(normalise_axis(3, 3), std::nullopt);
  EXPECT_EQ(normalise_axis(-4, 3), std::nullopt);
  EXPECT_EQ(normalise_axis(0, 0), std::nullopt);
}

}  // namespace
}  // namespace tilewright::shape_test
