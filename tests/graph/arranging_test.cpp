// Elements in another arrangement, at once and compiled, against loops.
#include "graph/functions/indexing/arranging.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright {
namespace {

using namespace testing_loops;

TEST(Arranging, FlipsAxes) {
  Dice dice(1);
  const Shape sizes = {2, 3, 4};
  Tensor x = dice.floats(sizes);
  Floats of_x = x.to_vector<float>();
  for (const std::vector<int>& axes :
       std::vector<std::vector<int>>{{}, {0}, {-1}, {1, 2}, {2, 0, 1}}) {
    Floats wanted = elements<float>(sizes, [&](const Place& at) {
      Place from = at;
      for (int axis : axes) {
        const auto i = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
        from[i] = sizes[static_cast<int>(i)] - 1 - at[i];
      }
      return of_x[number_of(sizes, from)];
    });
    expect_equal<float>([&axes](const Tensors& t) { return Tensors{flip(t[0], axes)}; }, {x}, sizes,
                        wanted);
  }
  Tensor square = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(fliplr(square).to_vector<float>(), (Floats{2, 1, 4, 3}));
  EXPECT_EQ(flipud(square).to_vector<float>(), (Floats{3, 4, 1, 2}));
  EXPECT_EQ(flip(Tensor::scalar(1.0F), {0}).shape(), Shape{});
  expect_contains(error_of([&] { flip(x, {1, -2}); }), "axis 1 is named twice");
  expect_contains(error_of([&] { fliplr(zeros({2})); }), "two axes at least");
  expect_contains(error_of([&] { flipud(zeros({})); }), "one at least");
}

TEST(Arranging, RollsAlongAxes) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  auto rolled = [](const Shape& shifts, const std::vector<int>& axes) {
    return [shifts, axes](const Tensors& t) { return Tensors{roll(t[0], shifts, axes)}; };
  };
  expect_equal<float>(rolled({1}, {}), {x}, {2, 3}, {6, 1, 2, 3, 4, 5});
  expect_equal<float>(rolled({1}, {1}), {x}, {2, 3}, {3, 1, 2, 6, 4, 5});
  expect_equal<float>(rolled({-4}, {-1}), {x}, {2, 3}, {2, 3, 1, 5, 6, 4});
  expect_equal<float>(rolled({1, 2}, {0, 1}), {x}, {2, 3}, {5, 6, 4, 2, 3, 1});
  expect_equal<float>(rolled({3}, {}), {zeros({0, 2})}, {0, 2}, {});
  expect_contains(error_of([&] { roll(x, {1, 2}, {1}); }), "2 shifts and 1 axes");
  expect_contains(error_of([&] { roll(x, {1, 2}, {1}); }), "; there must be 1 shift");
  expect_contains(error_of([&] { roll(x, {1}, {0, 1}); }), "; there must be 2 shifts");
}

TEST(Arranging, KeepsTriangles) {
  Dice dice(2);
  const Shape sizes = {2, 3, 5};
  Tensor x = dice.floats(sizes);
  Floats of_x = x.to_vector<float>();
  for (std::int64_t k : {-3, -1, 0, 2, 7}) {
    auto part = [&](bool is_lower) {
      return elements<float>(sizes, [&](const Place& at) {
        const bool is_kept = is_lower ? at[2] - at[1] <= k : at[2] - at[1] >= k;
        return is_kept ? of_x[number_of(sizes, at)] : 0;
      });
    };
    expect_equal<float>([k](const Tensors& t) { return Tensors{tril(t[0], k)}; }, {x}, sizes,
                        part(true));
    expect_equal<float>([k](const Tensors& t) { return Tensors{triu(t[0], k)}; }, {x}, sizes,
                        part(false));
  }
  EXPECT_EQ(tril(ones({2, 2}, DType::boolean)).dtype(), DType::boolean);
  expect_contains(error_of([&] { triu(zeros({3})); }), "two axes at least");
}

TEST(Arranging, MakesDiagonals) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  auto embedded = [](std::int64_t offset, int a, int b) {
    return [=](const Tensors& t) { return Tensors{diag_embed(t[0], offset, a, b)}; };
  };
  expect_equal<float>(embedded(0, -2, -1), {x}, {2, 2, 2}, {1, 0, 0, 2, 3, 0, 0, 4});
  expect_equal<float>(embedded(1, -2, -1), {x}, {2, 3, 3},
                      {0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0});
  expect_equal<float>(embedded(-1, 0, 2), {x}, {3, 2, 3},
                      {0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0, 0, 0, 2, 0, 0, 4, 0});
  expect_contains(error_of([&] { diag_embed(x, 0, 1, -2); }), "rows and columns are both axis 1");
  expect_contains(error_of([&] { diag_embed(zeros({})); }), "it must have one");
  expect_contains(error_of([&] { diag_embed(x, INT64_MAX); }), "it must be in [-2^31, 2^31)");
}

}  // namespace
}  // namespace tilewright
