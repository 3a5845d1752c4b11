// Poolings over windows with paddings of two sides, at once and compiled.
#include "graph/functions/pooling/framed_pooling.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::framed_pooling_test {
namespace {

using namespace testing_loops;
using graph::WindowFrame;

// Windows of two elements over an axis of four, with one place of padding in front.
const WindowFrame pairs = {{{2}, {1}, {1}}, {1}, {0}, {4}, {0}};

TEST(FramedPooling, ReducesWindowsWithPaddingInFrontAlone) {
  const Tensor x = Tensor::from(Floats{1, 5, -5, 2}, {1, 1, 4});
  auto with = [](auto function) {
    return [=](const Tensors& t) { return Tensors{function(t[0])}; };
  };
  const Shape sizes = {1, 1, 4};
  expect_near(with([](const Tensor& t) { return graph::framed_max(t, pairs); }), {x}, sizes,
              {1, 5, 5, 2});
  expect_near(with([](const Tensor& t) { return graph::framed_mean(t, pairs, false); }), {x}, sizes,
              {1, 3, 0, -1.5F});
  expect_near(with([](const Tensor& t) { return graph::framed_mean(t, pairs, true); }), {x}, sizes,
              {0.5F, 3, 0, -1.5F});
  expect_near(with([](const Tensor& t) { return graph::framed_norm(t, pairs, 1); }), {x}, sizes,
              {1, 6, 10, 7});
}

TEST(FramedPooling, NumbersElementsOfTheTensorButNoPadding) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from(Floats{-infinity, 5, 5, 2}, {1, 1, 4});
  auto numbers = [](const Tensors& t) {
    return Tensors{graph::framed_max_with_indices(t[0], pairs, false).second};
  };
  expect_equal<std::int64_t>(numbers, {x}, {1, 1, 4}, {0, 1, 1, 2});
  const WindowFrame plane = {{{2, 2}, {1, 1}, {1, 1}}, {0, 0}, {0, 0}, {1, 1}, {0, 0}};
  const Tensor image = Tensor::from(Floats{1, 9, 3, 2}, {1, 1, 2, 2});
  EXPECT_EQ(graph::framed_max_with_indices(image, plane, false).second.item<std::int64_t>(), 1);
  EXPECT_EQ(graph::framed_max_with_indices(image, plane, true).second.item<std::int64_t>(), 2);
}

TEST(FramedPooling, RefusesWindowsOfTooManyElements) {
  const WindowFrame wide = {{{4097}, {1}, {1}}, {0}, {0}, {1}, {0}};
  expect_contains(error_of([&] {
                    graph::framed_max(zeros({1, 1, 4097}), wide);
                  }),
                  "[pooling] windows of 4097 elements are too large");
}

}  // namespace
}  // namespace tilewright::framed_pooling_test
