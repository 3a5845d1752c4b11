// Regions and moved windows, against their definition in loops and torchvision's numbers.
#include "graph/functions/resampling/sampled_windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::sampled_windows_test {
namespace {

using Floats = std::vector<float>;

Tensor random_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = uniform(random);
  return Tensor::from(elements, shape);
}
void expect_near(const Floats& got, const Floats& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 2e-5) << i;
}

// A plane between its elements; `beyond` says what lies outside.
struct Plane {
  const float* elements;
  std::int64_t height, width;
  float at(std::int64_t row, std::int64_t column) const { return elements[row * width + column]; }

  float held_at_edges(float row, float column) const {
    if (row < -1 || row > static_cast<float>(height) || column < -1 ||
        column > static_cast<float>(width))
      return 0;
    auto corner = [](float x, std::int64_t size) {
      x = std::max(x, 0.0F);
      auto low = std::min(static_cast<std::int64_t>(x), size - 1);
      float part = low == size - 1 ? 0 : x - static_cast<float>(low);
      return std::tuple(low, std::min(low + 1, size - 1), part);
    };
    auto [top, bottom, down] = corner(row, height);
    auto [left, right, across] = corner(column, width);
    return (1 - down) * ((1 - across) * at(top, left) + across * at(top, right)) +
           down * ((1 - across) * at(bottom, left) + across * at(bottom, right));
  }
};

TEST(RoiAlign, IsTheMeanOfSamplesOfEachBin) {
  const std::int64_t channels = 3, height = 7, width = 9;
  Tensor x = random_tensor({2, channels, height, width}, 1);
  const Floats regions = {0, 1,    2,    5,    6,    1, -3, -4, 30, 4,
                          1, 3.3F, 2.1F, 3.4F, 2.2F, 0, 50, 60, 70, 80};
  const Floats elements = x.to_vector<float>();
  for (bool aligned : {false, true})
    for (std::int64_t samples : {1, 2, 3}) {
      const RoiAlignOptions options{
          .size = {2, 3}, .scale = 0.5, .samples = samples, .aligned = aligned};
      Floats wanted;
      for (std::size_t r = 0; r < 4; ++r)
        for (std::int64_t channel = 0; channel < channels; ++channel) {
          const float* region = &regions[r * 5];
          const Plane plane{
              elements.data() +
                  (static_cast<std::int64_t>(region[0]) * channels + channel) * height * width,
              height, width};
          const float shift = aligned ? 0.5F : 0;
          float left = region[1] * 0.5F - shift, top = region[2] * 0.5F - shift;
          float wide = region[3] * 0.5F - shift - left, high = region[4] * 0.5F - shift - top;
          if (!aligned) wide = std::max(wide, 1.0F), high = std::max(high, 1.0F);
          for (int row = 0; row < 2; ++row)
            for (int column = 0; column < 3; ++column) {
              float sum = 0;
              for (int i = 0; i < samples * samples; ++i) {
                auto place = [&](float start, float size, int bin, auto part) {
                  return start +
                         size * (static_cast<float>(bin) +
                                 (static_cast<float>(part) + 0.5F) / static_cast<float>(samples));
                };
                sum += plane.held_at_edges(place(top, high / 2, row, i / samples),
                                           place(left, wide / 3, column, i % samples));
              }
              wanted.push_back(sum / static_cast<float>(samples * samples));
            }
        }
      auto function = [&](const Tensor& a, const Tensor& b) { return roi_align(a, b, options); };
      Tensor boxes = Tensor::from(regions, {4, 5});
      for (const Tensor& y : {function(x, boxes), compile(function)(x, boxes)}) {
        EXPECT_EQ(y.shape(), (Shape{4, channels, 2, 3}));
        expect_near(y.to_vector<float>(), wanted);
      }
    }
}

// As torchvision computes it: roi_align(x, regions, (1, 2), 0.5, -1, aligned).
TEST(RoiAlign, SamplesABinAsOftenAsItHasElements) {
  Tensor x = Tensor::from(Floats{3, -1, 4, 1, -5, 9, 2, -6, 5, 3, -5, 8}, {1, 1, 3, 4});
  Tensor regions = Tensor::from(Floats{0, 0, 0, 7, 5, 0, 1, 2, 2, 3, 0, 4, 4, 2, 2}, {3, 5});
  for (bool aligned : {false, true}) {
    auto function = [&](const Tensor& a, const Tensor& b) {
      return roi_align(a, b,
                       {.size = {1, 2}, .scale = 0.5, .aligned = aligned, .as_many_as_fit = true});
    };
    Tensor boxes = aligned ? regions : regions.slice(0, 0, 2);
    const Floats wanted = aligned ? Floats{1.6545138F, 1.2994791F, -1.8125F, 0.5625F, 0, 0}
                                  : Floats{2.6831596F, 0.4947917F, 4.5F, 4.125F};
    expect_near(function(x, boxes).to_vector<float>(), wanted);
    expect_near(compile(function)(x, boxes).to_vector<float>(), wanted);
    EXPECT_EQ(function(x, zeros({0, 5})).shape(), (Shape{0, 1, 1, 2}));
  }
  expect_contains(
      error_of([&] {
        roi_align(x, Tensor::from(Floats{0, 0, 0, 9e3F, 2}, {1, 5}), {.as_many_as_fit = true});
      }),
      "[roi_align] a bin of 9000 elements");
}

// As torchvision computes it: regions that are cut by edges, that begin beyond one, and that are
// outside.
TEST(RoiPool, IsTheGreatestElementOfEachBin) {
  Tensor x = Tensor::from(Floats{3, -1, 4, 1, -5, 9, 2, -6, 5, 3, -5, 8}, {1, 1, 3, 4});
  Tensor regions = Tensor::from(Floats{0, 0, 1, 7, 5, 0, -3, -3, 1, 1, 0, 20, 20, 22, 22}, {3, 5});
  auto function = [](const Tensor& a, const Tensor& b) {
    return roi_pool(a, b, {.size = {2, 2}, .scale = 0.5});
  };
  for (const Tensor& y : {function(x, regions), compile(function)(x, regions)}) {
    EXPECT_EQ(y.shape(), (Shape{3, 1, 2, 2}));
    EXPECT_EQ(y.to_vector<float>(), (Floats{9, 8, 5, 8, 0, 0, 0, 9, 0, 0, 0, 0}));
  }
  EXPECT_EQ(function(x.to(f16), regions).dtype(), f16);
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  Tensor x = random_tensor({2, 4, 8, 9}, 2), weight = random_tensor({6, 2, 3, 2}, 3),
         bias = random_tensor({6}, 4);
  const DeformConvOptions options{.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}};
  Tensor plain = conv2d(x, weight, bias,
                        {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2});
  const Shape offsets = {2, 2 * 2 * 6, plain.size(2), plain.size(3)};
  Tensor y = deform_conv2d(x, zeros(offsets), weight, bias, {}, options);
  EXPECT_EQ(y.shape(), plain.shape());
  expect_near(y.to_vector<float>(), plain.to_vector<float>());
  // Whole elements further are those of a moved image; a mask of a half halves.
  Tensor half = full({2, 2 * 6, plain.size(2), plain.size(3)}, 0.5);
  expect_near(deform_conv2d(x, zeros(offsets), weight, {}, half, options).to_vector<float>(),
              ((plain - bias.reshape({6, 1, 1})) * 0.5).to_vector<float>());
}

TEST(DeformConv, MeetsElementsBetweenElements) {
  // One window of one place, moved by (0.25, 0.5) from (0, 0), and beyond the edge.
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {1, 1, 2, 2}), weight = ones({1, 1, 1, 1});
  auto at = [&](float down, float right) {
    Tensor offset = Tensor::from(Floats{down, 0, 0, 0, right, 0, 0, 0}, {1, 2, 2, 2});
    return deform_conv2d(x, offset, weight).to_vector<float>()[0];
  };
  EXPECT_FLOAT_EQ(at(0.25, 0.5), 2);
  EXPECT_FLOAT_EQ(at(-0.5, 0), 0.5);
  EXPECT_FLOAT_EQ(at(1.75, 1), 1);
  EXPECT_FLOAT_EQ(at(-1, 0), 0);
}

TEST(SampledWindows, SayWhatDoesNotFit) {
  Tensor x = zeros({1, 4, 5, 5}), regions = zeros({2, 5}), weight = zeros({4, 2, 3, 3});
  auto roi = [&](const Tensor& a, const Tensor& b, const RoiAlignOptions& o) {
    return error_of([&] { roi_align(a, b, o); });
  };
  expect_contains(roi(zeros({4, 5, 5}), regions, {}), "floats [N, C, H, W]");
  expect_contains(roi(x, zeros({2, 4}), {}), "the regions are f32 [2x4]");
  expect_contains(roi(x, regions, {.samples = 0}), "0 samples a bin");
  expect_contains(error_of([&] {
                    roi_pool(zeros({4, 5, 5}), regions, {});
                  }),
                  "[roi_pool] x is f32 [4x5x5]");
  expect_contains(roi(x, regions, {.size = {0, 1}}), "two numbers from 1 to 4096");
  auto deformed = [&](const Tensor& offset, const Tensor& w, const Tensor& bias, const Tensor& mask,
                      const DeformConvOptions& o) {
    return error_of([&] { deform_conv2d(x, offset, w, bias, mask, o); });
  };
  Tensor offset = zeros({1, 18, 3, 3});
  EXPECT_EQ(deformed(offset, weight, {}, {}, {}), "no error");
  expect_contains(deformed(zeros({1, 18, 3, 2}), weight, {}, {}, {}), "are wanted");
  expect_contains(deformed(offset, zeros({4, 3, 3, 3}), {}, {}, {}), "must divide those of x");
  expect_contains(deformed(offset, weight, zeros({3}), {}, {}), "the bias is [3]");
  expect_contains(deformed(offset, weight, {}, zeros({1, 9, 3, 2}), {}), "the mask is [1x9x3x2]");
  expect_contains(deformed(offset, weight, {}, {}, {.stride = {0, 1}}), "a stride of 0");
  const std::int64_t huge = std::int64_t{1} << 62;
  expect_contains(deformed(offset, weight, {}, {}, {.padding = {huge, 0}}), "all below 2^31");
  expect_contains(deformed(offset, weight, {}, {}, {.dilation = {1, huge}}), "all below 2^31");
  expect_contains(deformed(offset, weight.to(f16), {}, {}, {}), "they must have one dtype");
  for (float image : {-1.F, 1.F}) {
    Tensor box = Tensor::from(Floats{image, 0, 0, 1, 1}, {1, 5});
    expect_contains(roi(x, box, {}), "roi_align");
  }
}

}  // namespace
}  // namespace tilewright::sampled_windows_test
