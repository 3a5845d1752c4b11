// Windows as columns and back, maxima put back, channels as pixels, and sizes by ONNX's rules, by
// hand.
#include "graph/functions/convolving/folding.h"

#include <gtest/gtest.h>

#include "graph/functions/pooling/pooling.h"
#include "graph/functions/pooling/unpooling.h"
#include "graph/functions/resampling/grid_sample.h"
#include "graph/functions/resampling/resize.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "graph/functions/shaping/pixels.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/tensors.h"

namespace tilewright::folding_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::expect_equal;
using testing_loops::expect_near;
using testing_loops::Floats;
using testing_loops::Integers;
using testing_loops::Tensors;

TEST(Folding, WindowsBecomeColumns) {
  expect_equal<float>(
      [](const Tensors& t) -> Tensors {
        return {unfold(t[0], {2, 2})};
      },
      {counted({1, 1, 2, 3})}, {1, 4, 2}, {0, 1, 1, 2, 3, 4, 4, 5});
  expect_equal<float>(
      [](const Tensors& t) -> Tensors {
        return {unfold(t[0], {2}, {.stride = {2}, .padding = {1}, .padding_after = {0}})};
      },
      {counted({2, 3})}, {4, 2}, {0, 1, 0, 2, 0, 4, 3, 5});
}

TEST(Folding, ColumnsAreAddedWhereTheyCameFrom) {
  // Each element as often as windows have it: of rows two apart those in the middle twice.
  Floats often;
  for (int row = 0; row < 18; ++row) often.insert(often.end(), 4, row % 3 == 1 ? 2.0F : 1.0F);
  expect_near(
      [](const Tensors& t) -> Tensors {
        const FoldOptions options{.stride = {1, 2}, .padding = {1, 0}, .dilation = {2, 1}};
        return {fold(unfold(t[0], {2, 2}, options), {3, 4}, {2, 2}, options)};
      },
      {ones({2, 3, 3, 4})}, {2, 3, 3, 4}, often);
  expect_near([](const Tensors& t) -> Tensors { return {fold(t[0], {3}, {2})}; },
              {Tensor::from(Floats{1, 2, 10, 20}, {2, 2})}, {1, 3}, {1, 12, 20});
  expect_contains(error_of([] {
                    unfold(zeros({1, 1, 2, 2}), {3, 3});
                  }),
                  "[unfold] windows of 3 do not fit an axis of 2");
  expect_contains(error_of([] { unfold(zeros({2}), {2, 2}); }), "[unfold] x is [2]");
  expect_contains(error_of([] {
                    fold(zeros({1, 3, 2}), {3}, {2});
                  }),
                  "[fold] columns are f32 [1x3x2]");
  expect_contains(error_of([] {
                    fold(zeros({1, 4, 2}), {3}, {2}, {.stride = {0}});
                  }),
                  "[fold] [0] (at");
  expect_contains(error_of([] {
                    fold(zeros({1, 4, 2}), {3}, {2}, {.stride = {1, 1}});
                  }),
                  "[fold] [1x1] for 1 axes");
}

TEST(Unpooling, MaximaGoBackToWhereTheyWere) {
  const Tensor x = Tensor::from(Floats{1, 5, 2, 0, 3, 4, 8, 7}, {1, 1, 2, 4});
  expect_equal<float>(
      [](const Tensors& t) -> Tensors {
        auto [values, indices] = max_pool2d_with_indices(t[0], {2, 2});
        return {max_unpool2d(values, indices, {2, 4})};
      },
      {x}, {1, 1, 2, 4}, {0, 5, 0, 0, 0, 0, 8, 0});
  EXPECT_EQ(
      max_unpool1d(ones({1, 2}), Tensor::from(Integers{3, 0}, {1, 2}), {4}).to_vector<float>(),
      (Floats{1, 0, 0, 1}));
  expect_contains(error_of([] {
                    max_unpool3d(zeros({1, 2}), zeros({1, 2}, i64), {4});
                  }),
                  "[max_unpool3d] the sizes are [4]");
}

TEST(Unpooling, WindowsMayLieAtRandom) {
  const Tensor x = counted({1, 1, 1, 5}).expand({1, 1, 5, 5}).contiguous();
  // Windows of 2 that begin at 0 or 1 and end where the axis does: steps of 3 of 1 place.
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        auto [values, indices] = fractional_max_pool2d(t[0], {2, 2}, {2, 2}, t[1]);
        return {values, indices};
      },
      {x, full({1, 1, 2}, 0.5)},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<float>(), (Floats{1, 4, 1, 4}));
        EXPECT_EQ(got[1].shape(), (Shape{1, 1, 2, 2}));
      });
  expect_contains(error_of([&] {
                    fractional_max_pool2d(x, {2, 2}, {5, 5}, zeros({1, 1, 2}));
                  }),
                  "[fractional_max_pool2d] 5 windows of 2 along an axis of 5");
  expect_contains(error_of([&] {
                    fractional_max_pool3d(x, {2, 2}, {2, 2}, zeros({1, 1, 2}));
                  }),
                  "[fractional_max_pool3d] the random samples are [1x1x2]");
}

TEST(Pixels, AreChannels) {
  const Tensor x = counted({1, 4, 1, 2});
  expect_equal<float>([](const Tensors& t) -> Tensors { return {pixel_shuffle(t[0], 2)}; }, {x},
                      {1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7});
  EXPECT_EQ(pixel_unshuffle(pixel_shuffle(x, 2), 2).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(channel_shuffle(counted({1, 4}), 2).to_vector<float>(), (Floats{0, 2, 1, 3}));
  expect_contains(error_of([] {
                    pixel_shuffle(zeros({3, 2, 2}), 2);
                  }),
                  "[pixel_shuffle] the factor is 2, for a tensor [3x2x2]");
  expect_contains(error_of([] {
                    pixel_unshuffle(zeros({3, 2, 3}), 2);
                  }),
                  "[pixel_unshuffle] the factor is 2");
  expect_contains(error_of([] {
                    channel_shuffle(zeros({1, 3}), 2);
                  }),
                  "[channel_shuffle] 2 groups");
}

TEST(Resizing, PlacesElementsByItsRule) {
  auto resized = [](const Tensor& x, std::int64_t size, const ResizeOptions& options) {
    const double scale = static_cast<double>(size) / static_cast<double>(x.size(0));
    return resize(x, {{.axis = 0, .size = size, .scale = scale}}, options).to_vector<float>();
  };
  const Tensor x = counted({4});
  using enum ResizeCoordinates;
  EXPECT_EQ(resized(x, 8, {}), (Floats{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resized(x, 2, {.coordinates = asymmetric, .nearest = ResizeNearest::floor}),
            (Floats{0, 2}));
  EXPECT_EQ(resized(x, 2, {.nearest = ResizeNearest::round_prefer_ceil}), (Floats{1, 3}));
  EXPECT_EQ(resized(x, 2, {.nearest = ResizeNearest::ceil}), (Floats{1, 3}));
  EXPECT_EQ(resized(x, 7, {.method = ResizeMethod::linear, .coordinates = align_corners}),
            (Floats{0, 0.5F, 1, 1.5F, 2, 2.5F, 3}));
  EXPECT_EQ(resized(x, 2, {.method = ResizeMethod::linear}), (Floats{0.5F, 2.5F}));
  EXPECT_EQ(resized(x, 1, {.method = ResizeMethod::linear, .coordinates = pytorch_half_pixel}),
            Floats{0});
  EXPECT_EQ(
      resize(
          x, {{0, 2, 0.5, 0.5, 1.5}},
          {.method = ResizeMethod::linear, .coordinates = tf_crop_and_resize, .extrapolation = 9})
          .to_vector<float>(),
      (Floats{1.5F, 9}));
  expect_near(
      [](const Tensors& t) -> Tensors {
        return {resize(t[0], {{0, 8, 2.0}}, {.method = ResizeMethod::cubic})};
      },
      {ones({4, 3})}, {8, 3}, Floats(24, 1));
  expect_contains(error_of([&] { resize(x, {{0, -1, 1.0}}); }), "[resize] axis 0 of [4]");
  expect_contains(error_of([&] { resize(x, {{2, 1, 1.0}}); }), "[resize]");
}

TEST(GridSamples, MoveInsideBeforeTheyRoundInOnnx) {
  const Tensor x = counted({1, 1, 4}), at = Tensor::from(Floats{-1.25F, -0.5F, 1.3F}, {1, 3, 1});
  auto sampled = [&](SampleMode mode, SamplePadding padding) {
    return graph::sampled_at(x, at, {mode, padding}, true).to_vector<float>();
  };
  // Elements -1, 0.5 and 4.1 of edges at -0.5 and 3.5.
  EXPECT_EQ(sampled(SampleMode::nearest, SamplePadding::border), (Floats{0, 0, 3}));
  const Floats reflected = sampled(SampleMode::bilinear, SamplePadding::reflection);
  EXPECT_NEAR(reflected[0], 0, 1e-5F);
  EXPECT_NEAR(reflected[1], 0.5F, 1e-5F);
  EXPECT_NEAR(reflected[2], 2.9F, 1e-5F);
  EXPECT_EQ(graph::affine_positions(Tensor::from(Floats{2, 1}, {1, 1, 2}), {1, 1, 2}, true, -1)
                .to_vector<float>(),
            (Floats{-1, 3}));
  EXPECT_EQ(graph::affine_positions(ones({1, 1, 2}), {1, 1, 1}, true, -1).to_vector<float>(),
            Floats{0});
}

TEST(RoiAlign, TakesTheGreatestOfWeightedElements) {
  const Tensor x = Tensor::from(Floats{-1, -2, -3, -4}, {1, 1, 2, 2}),
               region = Tensor::from(Floats{0, 0, 0, 1, 1}, {1, 5});
  expect_near(
      [](const Tensors& t) -> Tensors {
        return {roi_align(t[0], t[1], {.samples = 1, .reduction = RoiReduction::greatest})};
      },
      {x, region}, {1, 1, 1, 1}, {-0.25F});
}

}  // namespace
}  // namespace tilewright::folding_test
