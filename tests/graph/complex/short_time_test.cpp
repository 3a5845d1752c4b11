// Short-time transforms are those of the frames that a signal is cut into, and give it back.
#include "graph/functions/fourier/short_time.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/fourier/transforms.h"
#include "tests/errors.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_short_time_test {
namespace {

using namespace testing_complex;
using ::testing::HasSubstr;

// A window of squared sines, which is 0 at its beginning.
Tensor window_of(std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(
        std::pow(std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)), 2));
  return Tensor::from(values, {n});
}

TEST(ShortTime, FramesAreTransformedOneByOne) {
  Dice dice(4);
  const Tensor x = dice.floats({2, 20}).to(f64), window = window_of(8);
  const ShortTimeOptions options{.hop_length = 3, .window = window, .center = false};
  const ComplexTensor y = stft(x, 8, options);
  ASSERT_EQ(y.shape(), (Shape{2, 5, 5}));
  for (std::int64_t i = 0; i < 5; ++i)
    expect_same(y.select(2, i), rfft(x.slice(1, 3 * i, 3 * i + 8) * window));
  ShortTimeOptions scaled = options;
  scaled.normalized = true;
  scaled.onesided = false;
  expect_same(stft(x, 8, scaled).slice(1, 0, 5), y / std::sqrt(8.0));
  // Half of a frame is added at either end.
  ShortTimeOptions centred = options;
  centred.center = true;
  EXPECT_EQ(stft(x, 8, centred).shape(), (Shape{2, 5, 7}));
  expect_same(stft(x, 8, centred).select(2, 2), rfft(x.slice(1, 2, 10) * window));
}

TEST(ShortTime, SignalsComeBack) {
  Dice dice(5);
  const Tensor x = dice.floats({2, 24}).to(f64);
  for (bool normalized : {false, true}) {
    const ShortTimeOptions options{.window = window_of(8), .normalized = normalized};
    expect_same(ComplexTensor(istft(stft(x, 8, options), 8, options)), ComplexTensor(x));
    expect_same(ComplexTensor(istft(stft(x, 8, options), 8, options, 20)),
                ComplexTensor(x.slice(1, 0, 20)));
  }
  const ComplexTensor z = random_complex(dice, {24});
  const ShortTimeOptions all{.window = window_of(8), .onesided = false};
  expect_same(complex_istft(stft(z, 8, all), 8, all), z);
}

TEST(ShortTime, WhatCannotBeIsRefused) {
  const Tensor x = zeros({4, 8});
  EXPECT_THAT(error_of([&] { stft(x, 9, {.center = false}); }),
              HasSubstr("[stft] \"n_fft\" is 9; the signal is [4x8]"));
  EXPECT_THAT(error_of([&] { stft(x, 4, {.hop_length = 0}); }),
              HasSubstr("[stft] \"hop_length\" is 0"));
  EXPECT_THAT(error_of([&] { stft(x, 4, {.win_length = 5}); }),
              HasSubstr("[stft] \"win_length\" is 5; n_fft is 4"));
  EXPECT_THAT(error_of([&] { stft(x, 4, {.window = zeros({3})}); }),
              HasSubstr("[stft] \"window\" is [3]; [4] is wanted"));
  EXPECT_THAT(error_of([&] { stft(ComplexTensor(x, x), 4, {.onesided = true}); }),
              HasSubstr("[stft] \"onesided\" is true of a complex signal"));
  EXPECT_THAT(error_of([&] { istft(ComplexTensor(x), 5); }),
              HasSubstr("[istft] the spectrum is [4x8]; 3 bins are wanted"));
  EXPECT_THAT(error_of([&] {
                complex_istft(ComplexTensor(zeros({3, 8})), 4);
              }),
              HasSubstr("[istft] the spectrum of a complex signal is one-sided"));
}

}  // namespace
}  // namespace tilewright::complex_short_time_test
