// Elements in another arrangement, at once and compiled, against loops.
#include "graph/functions/indexing/arranging.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::arranging_test {
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

// Vectors that are turned round, and what is left behind the last one; and what is done with them.
TEST(Arranging, FlipsLinesOfEveryLength) {
  Dice dice(2);
  for (std::int64_t width : {2, 15, 16, 17, 64, 100, 1000}) {
    const Shape sizes = {3, width};
    Tensor x = dice.integers(sizes, -100, 100);
    const Integers of_x = x.to_vector<std::int64_t>();
    auto flipped = [&](const Place& at) {
      return of_x[number_of(sizes, {at[0], width - 1 - at[1]})];
    };
    const Integers turned = elements<std::int64_t>(sizes, flipped);
    Integers wanted = turned, sums(3, 0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = wanted[i] * 2 + of_x[i];
      sums[i / static_cast<std::size_t>(width)] +=
          turned[i] * static_cast<std::int64_t>(i % static_cast<std::size_t>(width));
    }
    for (DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::f32, DType::f64}) {
      SCOPED_TRACE(width);
      auto sum_with = [&](const Tensors& t) {
        return Tensors{(flip(t[0].to(dtype), {1}).to(DType::i64) * 2 + t[0]).to(DType::i64)};
      };
      expect_equal<std::int64_t>(sum_with, {x}, sizes, wanted);
      auto alone = [&](const Tensors& t) { return Tensors{flip(t[0], {1})}; };
      expect_equal<std::int64_t>(
          [&](const Tensors& t) { return Tensors{alone({t[0].to(dtype)})[0].to(DType::i64)}; }, {x},
          sizes, turned);
    }
    auto weighted = [&](const Tensors& t) {
      return Tensors{
          sum({flip(t[0], {1}) * arange(0, width), std::source_location::current()}, {1})};
    };
    expect_equal<std::int64_t>(weighted, {x}, {3}, sums);
  }
}

// Flipping returns a copy, even if nothing changes places.
TEST(Arranging, AFlippedTensorIsItsOwn) {
  for (std::int64_t width : {1, 5}) {
    auto written = [](Tensor x) {
      Tensor y = flip(x, {0});
      y.copy_from(y * 0 + 7);
      return x * 1;
    };
    auto given = [](const Tensor& x) { return flip(x, {0}); };
    Tensor x = ones({width});
    EXPECT_EQ(compile(written)(x).to_vector<float>(), x.to_vector<float>());
    Tensor y = compile(given)(x);
    y.copy_from(y * 0 + 7);
    EXPECT_EQ(x.to_vector<float>(), ones({width}).to_vector<float>());
  }
}

// A product takes its operands from the front.
TEST(Arranging, ProductsOfWhatIsFlippedAreThoseOfACopy) {
  Dice dice(3);
  Tensor a = dice.integers({5, 20}, -4, 5).to(f32), b = dice.integers({20, 30}, -4, 5).to(f32);
  auto product = [](const Tensors& t) { return Tensors{matmul(flip(t[0], {1}), flip(t[1], {0}))}; };
  expect_equal<float>(product, {a, b}, {5, 30}, matmul(a, b).to_vector<float>());
  auto rows = [](const Tensors& t) { return Tensors{matmul(flip(t[0], {0}), flip(t[1], {1}))}; };
  expect_equal<float>(rows, {a, b}, {5, 30}, flip(matmul(a, b), {0, 1}).to_vector<float>());
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

TEST(Arranging, FillsDiagonals) {
  const Tensor x = zeros({4, 2});
  auto filled = [](bool wraps) {
    return [=](const Tensors& t) { return Tensors{fill_diagonal(t[0], 1.0, wraps)}; };
  };
  expect_equal<float>(filled(false), {x}, {4, 2}, {1, 0, 0, 1, 0, 0, 0, 0});
  expect_equal<float>(filled(true), {x}, {4, 2}, {1, 0, 0, 1, 0, 0, 1, 0});
  EXPECT_EQ(fill_diagonal(zeros({2, 2, 2}), 1.0).to_vector<float>(),
            (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 1}));
  expect_contains(error_of([] { fill_diagonal(zeros({2}), 1.0); }), "[fill_diagonal] x is 2");
}

}  // namespace
}  // namespace tilewright::arranging_test
