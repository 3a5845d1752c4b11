// Segments of an axis; the values are PyTorch's.
#include "graph/functions/pooling/segments.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::segment_reduce_test {
namespace {

using Floats = std::vector<float>;
constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor lengths(const std::vector<std::int64_t>& sizes, const Shape& shape) {
  return Tensor::from(sizes, shape);
}

TEST(SegmentReduce, ReducesEachSegment) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}), sizes = lengths({1, 0, 3}, {3});
  auto of = [&](ScatterReduction reduction, std::optional<double> initial = {}) {
    auto function = [=](const Tensor& a, const Tensor& b) {
      return segment_reduce(a, b, reduction, initial);
    };
    Tensor at_once = function(x, sizes);
    EXPECT_EQ(at_once.shape(), (Shape{3, 2}));
    Floats values = at_once.to_vector<float>(),
           compiled = compile(function)(x, sizes).to_vector<float>();
    EXPECT_THAT(compiled, testing::Pointwise(testing::NanSensitiveFloatEq(), values));
    return values;
  };
  using enum ScatterReduction;
  EXPECT_EQ(of(sum), (Floats{1, 2, 0, 0, 15, 18}));
  EXPECT_EQ(of(sum, 1), (Floats{2, 3, 1, 1, 16, 19}));
  EXPECT_EQ(of(prod), (Floats{1, 2, 1, 1, 105, 192}));
  EXPECT_EQ(of(amax), (Floats{1, 2, -infinity, -infinity, 7, 8}));
  EXPECT_EQ(of(amin, 2.5), (Floats{1, 2, 2.5, 2.5, 2.5, 2.5}));
  EXPECT_EQ(of(mean, 3), (Floats{4, 5, 3, 3, 6, 7}));
  Floats means = of(mean);
  EXPECT_TRUE(std::isnan(means[2]));
  EXPECT_EQ(means[4], 5);
}

TEST(SegmentReduce, HasOtherSegmentsInEachRow) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor y = segment_reduce(x, lengths({1, 2, 3, 0}, {2, 2}), ScatterReduction::sum);
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 5, 15, 0}));
}

TEST(SegmentReduce, LeavesOutWhatLiesBehindAndEndsWithTheAxis) {
  Tensor x = ones({5});
  EXPECT_EQ(segment_reduce(x, lengths({2, 1}, {2}), ScatterReduction::sum).to_vector<float>(),
            (Floats{2, 1}));
  EXPECT_EQ(segment_reduce(x, lengths({3, 4}, {2}), ScatterReduction::sum).to_vector<float>(),
            (Floats{3, 2}));
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(segment_reduce(x, lengths({2, -9, huge, huge, huge}, {5}), ScatterReduction::sum)
                .to_vector<float>(),
            (Floats{2, 0, 3, 0, 0}));
}

TEST(SegmentReduce, SaysWhatDoesNotFit) {
  auto error = [](const Tensor& x, const Tensor& sizes) {
    return error_of([&] { segment_reduce(x, sizes, ScatterReduction::sum); });
  };
  expect_contains(error(ones({4}).to(i64), lengths({4}, {1})), "floats and integers");
  expect_contains(error(ones({4}), ones({4})), "lengths are f32 [4]");
  expect_contains(error(ones({4}), lengths({4}, {1, 1})), "at most as many axes");
  expect_contains(error(ones({3, 4}), lengths({4}, {1, 1})), "axis 0 of the lengths [1x1]");
}

}  // namespace
}  // namespace tilewright::segment_reduce_test
