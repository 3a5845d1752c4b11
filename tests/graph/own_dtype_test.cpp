// Reductions with results of their operand's dtype, at once and compiled.
#include "graph/functions/reducing/own_dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::own_dtype_test {
namespace {

using namespace testing_loops;

using Reduction = Tensor (*)(const TensorOperand& x, const Axes& axes, bool keep_dims);
Function reduced(Reduction reduction) {
  return [=](const Tensors& t) { return Tensors{reduction(t[0], {1}, false)}; };
}

TEST(OwnDtype, OfIntegersIsTheirs) {
  const Tensor x = Tensor::from(std::vector<std::int32_t>{3, 4, -1, -2}, {2, 2});
  using Ints = std::vector<std::int32_t>;
  expect_equal<std::int32_t>(reduced(own_dtype::sum), {x}, {2}, Ints{7, -3});
  expect_equal<std::int32_t>(reduced(own_dtype::prod), {x}, {2}, Ints{12, 2});
  expect_equal<std::int32_t>(reduced(own_dtype::mean), {x}, {2}, Ints{3, -1});
  expect_equal<std::int32_t>(reduced(own_dtype::l1_norm), {x}, {2}, Ints{7, 3});
  expect_equal<std::int32_t>(reduced(own_dtype::sum_of_squares), {x}, {2}, Ints{25, 5});
  expect_equal<std::int32_t>(reduced(own_dtype::l2_norm), {x}, {2}, Ints{5, 2});
  expect_equal<std::int32_t>(reduced(own_dtype::amax), {x}, {2}, Ints{4, -1});
  expect_equal<std::int32_t>(reduced(own_dtype::amin), {x}, {2}, Ints{3, -2});
}

TEST(OwnDtype, HasLogarithmsOfSums) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  expect_near(reduced(own_dtype::log_sum), {x}, {2}, {std::log(3.0F), std::log(7.0F)});
  expect_near(reduced(own_dtype::logsumexp), {x}, {2}, {2.3132617F, 4.3132617F});
  expect_near([](const Tensors& t) { return Tensors{own_dtype::logsumexp(t[0])}; }, {x}, {},
              {4.4401897F});
  EXPECT_EQ(own_dtype::logsumexp(full({}, 3.0)).item<float>(), 3);
}

TEST(OwnDtype, ExtremaOfNothingAreTheEndsOfTheDtype) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto of_none = [](DType dtype, Reduction reduction) {
    return reduction(zeros({2, 0}, dtype), {1}, false).to(f32).to_vector<float>();
  };
  EXPECT_EQ(of_none(f32, own_dtype::amax), (Floats{-infinity, -infinity}));
  EXPECT_EQ(of_none(f32, own_dtype::amin), (Floats{infinity, infinity}));
  EXPECT_EQ(of_none(DType::i8, own_dtype::amax), (Floats{-128, -128}));
  EXPECT_EQ(of_none(DType::u8, own_dtype::amin), (Floats{255, 255}));
  EXPECT_EQ(of_none(DType::boolean, own_dtype::amin), (Floats{1, 1}));
  expect_contains(error_of([&] { of_none(DType::u64, own_dtype::amax); }),
                  "[amax] an extremum of no elements of u64");
  const Tensor flags = Tensor::from(Floats{0, 1, 0, 0}, {2, 2}) != 0;
  EXPECT_EQ(own_dtype::amax(flags, 1).to(f32).to_vector<float>(), (Floats{1, 0}));
  EXPECT_EQ(own_dtype::amin(flags, 1).to(f32).to_vector<float>(), (Floats{0, 0}));
}

TEST(OwnDtype, SumsAlongAnAxisFromEitherEnd) {
  const Tensor x = Tensor::from(std::vector<std::int32_t>{1, 2, 3}, {3});
  auto summed = [&](const own_dtype::CumsumOptions& options) {
    return own_dtype::cumsum(x, 0, options).to_vector<std::int32_t>();
  };
  using Ints = std::vector<std::int32_t>;
  EXPECT_EQ(summed({}), (Ints{1, 3, 6}));
  EXPECT_EQ(summed({.exclusive = true}), (Ints{0, 1, 3}));
  EXPECT_EQ(summed({.reverse = true}), (Ints{6, 5, 3}));
  EXPECT_EQ(summed({.exclusive = true, .reverse = true}), (Ints{5, 3, 0}));
}

}  // namespace
}  // namespace tilewright::own_dtype_test
