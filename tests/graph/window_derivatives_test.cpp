// Derivatives of convolutions and poolings against differences of their functions.
#include <gtest/gtest.h>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/derivatives/convolution.h"
#include "graph/functions/derivatives/pooling.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "tests/errors.h"
#include "tests/graph/finite_differences.h"

namespace tilewright::window_derivatives_test {
namespace {

using testing_differences::doubles;
using testing_differences::expect_derivative;
using testing_differences::Tensors;

Tensors as_list(const OperandGradients& all) { return {all.x, all.weight, all.bias}; }

TEST(WindowDerivatives, OfConvolutionsReachElementsThatWindowsReach) {
  expect_derivative(
      [](const Tensors& t) {
        return conv1d(t[0], t[1], t[2], {.stride = {2}, .padding = {1}, .groups = 2});
      },
      [](const Tensor& g, const Tensors& t) {
        return as_list(convolution_backward(
            g, t[0], t[1], {.stride = {2}, .padding = {1}, .dilation = {1}, .groups = 2}));
      },
      {doubles({2, 4, 8}, 1), doubles({2, 2, 3}, 2), doubles({2}, 3)});
  expect_derivative(
      [](const Tensors& t) {
        return conv2d(t[0], t[1], t[2], {.stride = {2, 1}, .padding = {0, 1}, .dilation = {1, 2}});
      },
      [](const Tensor& g, const Tensors& t) {
        return as_list(convolution_backward(
            g, t[0], t[1], {.stride = {2, 1}, .padding = {0, 1}, .dilation = {1, 2}}));
      },
      {doubles({1, 2, 6, 5}, 1), doubles({3, 2, 3, 2}, 2), doubles({3}, 3)});
}

TEST(WindowDerivatives, OfTransposedConvolutionsAreConvolutions) {
  expect_derivative(
      [](const Tensors& t) {
        return conv_transpose2d(t[0], t[1], t[2],
                                {.stride = {2, 2}, .padding = {1, 0}, .output_padding = {1, 0}});
      },
      [](const Tensor& g, const Tensors& t) {
        return as_list(convolution_backward(
            g, t[0], t[1],
            {.stride = {2, 2}, .padding = {1, 0}, .dilation = {1, 1}, .transposed = true}));
      },
      {doubles({1, 2, 3, 3}, 1), doubles({2, 3, 3, 2}, 2), doubles({3}, 3)});
}

TEST(WindowDerivatives, OfConvolutionsAreComputedWhereTheyAreWanted) {
  const auto one = convolution_backward(zeros({1, 1, 2}), zeros({1, 1, 3}), zeros({1, 1, 2}),
                                        {.stride = {1}, .padding = {0}, .dilation = {1}},
                                        {.x = false, .bias = false});
  EXPECT_FALSE(one.x.defined() || one.bias.defined());
  EXPECT_EQ(one.weight.shape(), (Shape{1, 1, 2}));
  expect_contains(error_of([] {
                    convolution_backward(zeros({1, 2}), zeros({1, 1, 3}), zeros({1, 1, 2}),
                                         {.stride = {1}, .padding = {0}, .dilation = {1}});
                  }),
                  "[convolution_backward] the weight is [1x1x2], x [1x1x3] and the gradient [1x2]");
  expect_contains(error_of([] {
                    convolution_backward(zeros({1, 1, 2}), zeros({1, 1, 3}), zeros({1, 1, 2}),
                                         {.stride = {1, 1}, .padding = {0}, .dilation = {1}});
                  }),
                  "[convolution_backward] the stride is [1x1]");
}

TEST(WindowDerivatives, OfMeansShareTheGradient) {
  for (const AveragePoolOptions& options :
       {AveragePoolOptions{},
        AveragePoolOptions{.stride = {2, 1}, .padding = {1, 0}, .ceil_mode = true},
        AveragePoolOptions{.padding = {1, 1}, .count_include_pad = false},
        AveragePoolOptions{.stride = {1, 2}, .divisor_override = 3}})
    expect_derivative(
        [&](const Tensors& t) {
          return avg_pool2d(t[0], {3, 2}, options);
        },
        [&](const Tensor& g, const Tensors& t) -> Tensors {
          return {avg_pool2d_backward(g, t[0], {3, 2}, options)};
        },
        {doubles({2, 2, 6, 5}, 1)});
  expect_derivative(
      [](const Tensors& t) {
        return adaptive_avg_pool2d(t[0], {3, 2});
      },
      [](const Tensor& g, const Tensors& t) -> Tensors {
        return {adaptive_avg_pool2d_backward(g, t[0])};
      },
      {doubles({2, 7, 5}, 1)});
  expect_contains(error_of([] { adaptive_avg_pool2d_backward(zeros({2}), zeros({2})); }),
                  "[adaptive_avg_pool2d_backward] x is f32 [2], the gradient [2]");
  expect_contains(
      error_of([] {
        avg_pool2d_backward(zeros({1, 1, 1}), zeros({1, 2, 2}), {2}, {.divisor_override = 0});
      }),
      "[avg_pool2d_backward] the divisor is 0");
}

}  // namespace
}  // namespace tilewright::window_derivatives_test
