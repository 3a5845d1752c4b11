// torch.fft's transforms are the sums that define them, along each of their axes.
#include "graph/functions/fourier/transforms.h"

#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "tests/errors.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_transforms_test {
namespace {

using namespace testing_complex;
using ::testing::HasSubstr;

// Over an axis of a tensor, by sums.
ComplexTensor summed(const ComplexTensor& z, int axis, double sign) {
  const ComplexTensor last = z.transpose(axis, -1);
  const std::int64_t n = last.size(-1), rows = last.count() / n;
  const Numbers x = numbers_of(last.reshape({rows, n}));
  Numbers y(x.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        y[static_cast<std::size_t>(row * n + k)] +=
            x[static_cast<std::size_t>(row * n + j)] *
            std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k) /
                                static_cast<double>(n));
  return complex_of(y, last.shape()).transpose(axis, -1);
}

TEST(FourierTransforms, AreTheSumsOverTheirAxes) {
  Dice dice(1);
  const ComplexTensor z = random_complex(dice, {2, 3, 4});
  const ComplexTensor once = summed(z, 2, -1), twice = summed(once, 1, -1),
                      all = summed(twice, 0, -1);
  expect_same(fft(z), once);
  expect_same(fft(z, {}, 1), summed(z, 1, -1));
  expect_same(ifft(z), summed(z, 2, 1) / 4);
  expect_same(fft2(z), twice);
  expect_same(fftn(z), all);
  expect_same(fftn(z, {}, std::vector<int>{0, 2}), summed(once, 0, -1));
  expect_same(ifft2(fft2(z)), z);
  expect_same(ifftn(fftn(z)), z);
  expect_near([](const ComplexTensors& x) { return fftn(x[0]); }, {z}, {2, 3, 4}, numbers_of(all));
  expect_same(fftn(z, {}, std::vector<int>{}), z);
}

TEST(FourierTransforms, SaySomeOfTheirHalvesTheOthers) {
  Dice dice(2);
  const Tensor x = dice.floats({3, 5, 6}).to(f64);
  const ComplexTensor whole = fftn(x);
  expect_same(rfft(x), fft(x).slice(-1, 0, 4));
  expect_same(rfft2(x), fft2(x).slice(-1, 0, 4));
  expect_same(rfftn(x), whole.slice(-1, 0, 4));
  expect_same(ComplexTensor(irfft(rfft(x))), ComplexTensor(x));
  expect_same(ComplexTensor(irfft2(rfft2(x))), ComplexTensor(x));
  expect_same(ComplexTensor(irfftn(rfftn(x))), ComplexTensor(x));
  // An odd number of results must be said.
  expect_same(ComplexTensor(irfft(rfft(x, {}, 1), 5, 1)), ComplexTensor(x));
  // A Hermitian signal has a real spectrum.
  expect_same(ComplexTensor(hfft(ihfft(x))), ComplexTensor(x));
  expect_same(ihfft(x), conj(rfft(x)) / 6);
  expect_same(ComplexTensor(hfftn(ihfftn(x))), ComplexTensor(x));
}

TEST(FourierTransforms, HaveTheSizesAndNormsThatAreNamed) {
  Dice dice(3);
  const ComplexTensor z = random_complex(dice, {3, 4});
  expect_same(fft(z, 2), fft(z.slice(1, 0, 2)));
  const Tensor none = zeros({3, 2}, f64);
  const ComplexTensor longer(cat({z.real(), none}, 1), cat({z.imag(), none}, 1));
  expect_same(fft(z, 6), fft(longer));
  expect_same(fftn(z, Shape{-1, 6}), fftn(longer));
  expect_same(fftn(z, Shape{2}), fft(z, 2));
  expect_same(fft(z, {}, -1, FourierNorm::forward), fft(z) / 4);
  expect_same(fft(z, {}, -1, FourierNorm::ortho), fft(z) / 2);
  expect_same(ifft(z, {}, -1, FourierNorm::forward), ifft(z) * 4);
  expect_same(ifft2(z, {}, {-2, -1}, FourierNorm::ortho), ifft2(z) * std::sqrt(12.0));
}

TEST(FourierTransforms, ThatCannotBeAreRefused) {
  const ComplexTensor z(zeros({4, 8}));
  EXPECT_THAT(error_of([&] { fft(z, 0); }),
              HasSubstr("[fft] a transform of 0 points; there are from 1 to 16777216"));
  EXPECT_THAT(error_of([&] { fft(z, {}, 2); }), HasSubstr("[fft] axis 2 of [4x8]; it has 2"));
  EXPECT_THAT(error_of([&] {
                fftn(z, Shape{1, 2, 3}, std::vector<int>{0, 1});
              }),
              HasSubstr("[fftn] 3 sizes for 2 axes; as many are wanted"));
  EXPECT_THAT(error_of([&] { rfftn(z.real(), {}, std::vector<int>{}); }),
              HasSubstr("[rfftn] a transform over no axes"));
}

}  // namespace
}  // namespace tilewright::complex_transforms_test
