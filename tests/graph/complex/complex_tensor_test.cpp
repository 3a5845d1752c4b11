// A complex tensor is two real ones: how it sees pairs, and what its views and operators compute.
#include "graph/functions/complex/complex_tensor.h"

#include <cmath>
#include <complex>

#include <gmock/gmock.h>

#include "graph/functions/complex/arithmetic.h"
#include "tests/errors.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_tensor_test {
namespace {

using namespace testing_complex;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

TEST(ComplexTensors, PairsAreSeenWithoutACopy) {
  const Tensor pairs = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {3, 2});
  const ComplexTensor z = view_as_complex(pairs);
  EXPECT_EQ(z.shape(), (Shape{3}));
  EXPECT_EQ(z.dtype(), f32);
  EXPECT_EQ(z.real().to_vector<float>(), (Floats{1, 3, 5}));
  EXPECT_EQ(z.imag().to_vector<float>(), (Floats{2, 4, 6}));
  EXPECT_EQ(view_as_real(z).const_data(), pairs.const_data());
  EXPECT_EQ(view_as_real(-z).to_vector<float>(), (Floats{-1, -2, -3, -4, -5, -6}));
}

TEST(ComplexTensors, PartsBroadcastAndHaveTheWiderDtype) {
  const ComplexTensor z(Tensor::from(Floats{1, 2}, {2, 1}),
                        Tensor::from(std::vector<double>{3, 4, 5}, {3}));
  EXPECT_EQ(z.dtype(), f64);
  expect_near(z, {2, 3}, {{1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}});
  EXPECT_EQ(ComplexTensor(arange(0, 3), arange(0, 3)).dtype(), f32);
}

TEST(ComplexTensors, RealOnesHaveZerosAsImaginaryPart) {
  const ComplexTensor x(arange(0, 3));
  EXPECT_TRUE(x.is_real());
  expect_near(x, {3}, {0, 1, 2});
  EXPECT_TRUE((x * 2.0 + 1.0).is_real());
  EXPECT_FALSE((x * Complex(0, 1)).is_real());
  EXPECT_EQ(abs(-x).to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(view_as_real(x).to_vector<float>(), (Floats{0, 0, 1, 0, 2, 0}));
}

TEST(ComplexTensors, ViewsAreThoseOfBothParts) {
  Dice dice(1);
  const ComplexTensor z = random_complex(dice, {2, 3, 4});
  using View = std::function<ComplexTensor(const ComplexTensor&)>;
  for (const View& view :
       std::vector<View>{[](const ComplexTensor& x) {
                           return x.reshape({4, 6});
                         },
                         [](const ComplexTensor& x) {
                           return x.permute({2, 0, 1});
                         },
                         [](const ComplexTensor& x) { return x.transpose(0, -1); },
                         [](const ComplexTensor& x) { return x.slice(1, 1, 3); },
                         [](const ComplexTensor& x) {
                           return x.select(2, 1).unsqueeze(0).expand({5, 2, 3});
                         },
                         [](const ComplexTensor& x) { return x.slice(0, 0, 1).squeeze(0); }}) {
    const ComplexTensor seen = view(z);
    const Tensor real = view(ComplexTensor(z.real())).real();
    const Tensor imaginary = view(ComplexTensor(z.imag())).real();
    EXPECT_EQ(seen.shape(), real.shape());
    EXPECT_EQ(seen.real().to_vector<double>(), real.to_vector<double>());
    EXPECT_EQ(seen.imag().to_vector<double>(), imaginary.to_vector<double>());
  }
  EXPECT_EQ(z.to(f32).dtype(), f32);
}

TEST(ComplexTensors, WritesGoToBothPartsAtOnce) {
  const Tensor pairs = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  ComplexTensor z = view_as_complex(pairs);
  z.copy_from(ComplexTensor(z.imag(), z.real()));
  EXPECT_EQ(pairs.to_vector<float>(), (Floats{2, 1, 4, 3}));
  const ComplexTensor own = z.clone();
  z.copy_from(ComplexTensor(zeros({2})));
  EXPECT_EQ(pairs.to_vector<float>(), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(view_as_real(own).to_vector<float>(), (Floats{2, 1, 4, 3}));
}

TEST(ComplexTensors, OperandsMayBeRealTensorsAndNumbersOfEitherKind) {
  const Complex a(1, 2), b(3, -4), c(0.5, 0.25);
  const ComplexTensor z = complex_of({a, b}, {2});
  const Tensor x = Tensor::from(std::vector<double>{2, 4}, {2});
  const Complex x0 = 2, x1 = 4;
  expect_near(z + z, {2}, {a + a, b + b});
  expect_near(z + x, {2}, {a + x0, b + x1});
  expect_near(x + z, {2}, {a + x0, b + x1});
  expect_near(1.5 + z, {2}, {a + 1.5, b + 1.5});
  expect_near(z - c, {2}, {a - c, b - c});
  expect_near(x - z, {2}, {x0 - a, x1 - b});
  expect_near(z * c, {2}, {a * c, b * c});
  expect_near(c * z, {2}, {a * c, b * c});
  expect_near(x * z, {2}, {a * x0, b * x1});
  expect_near(z * 2, {2}, {a * 2.0, b * 2.0});
  expect_near(1 / z, {2}, {1.0 / a, 1.0 / b});
  expect_near(z / x, {2}, {a / x0, b / x1});
  expect_near(x / z, {2}, {x0 / a, x1 / b});
  expect_near(z / std::complex<float>(0, 2), {2}, {a / Complex(0, 2), b / Complex(0, 2)});
  expect_near(pow(z, c), {2}, {std::pow(a, c), std::pow(b, c)});
  expect_near(pow(c, z), {2}, {std::pow(c, a), std::pow(c, b)});
  expect_near(pow(z, x), {2}, {std::pow(a, x0), std::pow(b, x1)});
  EXPECT_EQ((z == a).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ((z != a).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ((z == z).to_vector<bool>(), (std::vector<bool>{true, true}));
}

TEST(ComplexTensors, MisuseIsAnError) {
  const ComplexTensor z = complex_of({1, 2}, {2});
  EXPECT_THAT(error_of([] { view_as_complex(zeros({3})); }),
              HasSubstr("[view_as_complex] complex numbers as f32 [3]; floats with a last axis of "
                        "2 are wanted"));
  EXPECT_THAT(error_of([] { ComplexTensor(zeros({3}), zeros({2})); }),
              HasSubstr("[complex] a real part [3] with an imaginary one [2]"));
  EXPECT_THAT(error_of([] { ComplexTensor{Tensor()}; }), HasSubstr("the real part is undefined"));
  EXPECT_THAT(error_of([&] { z.to(i32); }), HasSubstr("[to] a complex tensor with parts of i32"));
  EXPECT_THAT(error_of([&] { z.clone().copy_from(complex_of({1}, {1})); }),
              HasSubstr("[copy_from] a complex tensor [1] is written to a complex one [2]"));
  EXPECT_THAT(error_of([&] { ComplexTensor(zeros({2})).copy_from(z); }),
              HasSubstr("is written to a real one [2]"));
  const std::string sum = error_of([&] { z + zeros({3}); });
  EXPECT_THAT(sum, HasSubstr("complex_tensor_test.cpp"));
}

}  // namespace
}  // namespace tilewright::complex_tensor_test
