// Elements that lie regularly, and these replaced, at once and compiled.
#include "graph/functions/indexing/strided_parts.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::strided_parts_test {
namespace {

using namespace testing_loops;

TEST(StridedParts, TakesAndReplacesDiagonals) {
  Dice dice(1);
  const Shape sizes = {3, 2, 4};
  Tensor x = dice.floats(sizes);
  Floats of_x = x.to_vector<float>();
  for (auto [offset, a, b] : {std::tuple<std::int64_t, int, int>{0, 0, 1},
                              {1, 0, 2},
                              {-1, 0, -1},
                              {-2, 2, 0},
                              {9, 0, 1}}) {
    const int row = a < 0 ? a + 3 : a, column = b < 0 ? b + 3 : b, other = 3 - row - column;
    const std::int64_t down = std::max<std::int64_t>(-offset, 0),
                       right = std::max<std::int64_t>(offset, 0);
    const std::int64_t length =
        std::max<std::int64_t>(std::min(sizes[row] - down, sizes[column] - right), 0);
    const Shape result = {sizes[other], length};
    Floats wanted, replaced = of_x;
    for_each_place(result, [&](const Place& at) {
      Place from(3);
      from[static_cast<std::size_t>(other)] = at[0];
      from[static_cast<std::size_t>(row)] = at[1] + down;
      from[static_cast<std::size_t>(column)] = at[1] + right;
      wanted.push_back(of_x[number_of(sizes, from)]);
      replaced[number_of(sizes, from)] = static_cast<float>(wanted.size());
    });
    Floats counted(wanted.size());
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i + 1);
    const std::int64_t k = offset;
    const int c = a, d = b;
    expect_equal<float>([=](const Tensors& t) { return Tensors{diagonal(t[0], k, c, d)}; }, {x},
                        result, wanted);
    expect_equal<float>(
        [=](const Tensors& t) { return Tensors{diagonal_scatter(t[0], t[1], k, c, d)}; },
        {x, Tensor::from(counted, result)}, sizes, replaced);
  }
  expect_contains(error_of([&] { diagonal(zeros({3})); }), "two axes at least");
  expect_contains(error_of([&] { diagonal(x, 0, 1, -2); }), "both axes are 1");
  expect_contains(error_of([&] { diagonal_scatter(x, zeros({2})); }), "it must be 4x2");
}

TEST(StridedParts, TakesElementsByStrides) {
  Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  expect_equal<float>(
      [](const Tensors& t) {
        return Tensors{as_strided(t[0], {3, 2}, {1, 3}, 1)};
      },
      {x}, {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_equal<float>(
      [](const Tensors& t) { return Tensors{as_strided_scatter(t[0], t[1], {2}, {3}, 2)}; },
      {x, Tensor::from(Floats{8, 9}, {2})}, {2, 4}, {0, 1, 8, 3, 4, 9, 6, 7});
  expect_contains(error_of([&] { as_strided(x, {2}, {8}, 0); }),
                  "the elements 0 to 8 of a tensor of 8 are wanted");
  expect_contains(error_of([&] { as_strided(x, {2}, {1, 1}, 0); }), "1 sizes and 2 strides");
  expect_contains(error_of([&] { as_strided(x, {2}, {-1}, 1); }), "neither may be negative");
}

TEST(StridedParts, TakesWindowsOfAnAxis) {
  Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 5});
  expect_equal<float>([](const Tensors& t) { return Tensors{unfold(t[0], 1, 3, 2)}; }, {x},
                      {2, 2, 3}, {0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9});
  expect_equal<float>([](const Tensors& t) { return Tensors{unfold(t[0], 0, 2, 1)}; }, {x},
                      {1, 5, 2}, {0, 5, 1, 6, 2, 7, 3, 8, 4, 9});
  expect_equal<float>([](const Tensors& t) { return Tensors{unfold(t[0], 0, 1, 1)}; },
                      {Tensor::scalar(4.0F)}, {1}, {4});
  expect_contains(error_of([&] { unfold(x, 1, 6, 1); }),
                  "windows of 6 elements every 1 do not fit axis 1");
}

TEST(StridedParts, ReplacesSlices) {
  Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  expect_equal<float>(
      [](const Tensors& t) { return Tensors{slice_scatter(t[0], t[1], 1, -3, {}, 2)}; },
      {x, Tensor::from(Floats{10, 11, 12, 13}, {2, 2})}, {2, 4}, {0, 10, 2, 11, 4, 12, 6, 13});
  expect_equal<float>([](const Tensors& t) { return Tensors{slice_scatter(t[0], t[1], 0, 2)}; },
                      {x, zeros({0, 4})}, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_equal<float>([](const Tensors& t) { return Tensors{select_scatter(t[0], t[1], 1, -1)}; },
                      {x, Tensor::from(Floats{8, 9}, {2})}, {2, 4}, {0, 1, 2, 8, 4, 5, 6, 9});
  expect_contains(error_of([&] { slice_scatter(x, zeros({2, 4}), 1, 1); }), "it must be 2x3");
  expect_contains(error_of([&] { slice_scatter(x, x, 1, 0, 4, 0); }), "the step is 0");
  expect_contains(error_of([&] { select_scatter(x, zeros({2}), 1, 4); }),
                  "index 4 is outside axis 1");
}

}  // namespace
}  // namespace tilewright::strided_parts_test
