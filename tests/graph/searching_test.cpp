// Where numbers belong in sorted ones, at once and compiled, against the standard library.
#include "graph/functions/indexing/searching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::searching_test {
namespace {

using namespace testing_loops;

Integers places_wanted(const Floats& sorted, const Floats& values, std::size_t rows, bool right) {
  Integers places;
  const std::size_t of_row = values.size() / rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t length = sorted.size() / rows;
    auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(i / of_row * length);
    auto end = begin + static_cast<std::ptrdiff_t>(length);
    places.push_back((right ? std::upper_bound(begin, end, values[i])
                            : std::lower_bound(begin, end, values[i])) -
                     begin);
  }
  return places;
}

TEST(SearchSorted, FindsPlacesInRows) {
  Dice dice(1);
  for (std::int64_t length : {1, 2, 7, 8, 100})
    for (bool right : {false, true}) {
      Floats sorted = dice.integers({3 * length}, -20, 20).to(f32).to_vector<float>();
      for (std::int64_t row = 0; row < 3; ++row)
        std::sort(sorted.begin() + row * length, sorted.begin() + (row + 1) * length);
      Tensor values = dice.integers({3, 5}, -22, 22).to(f32);
      expect_equal<std::int64_t>(
          [right](const Tensors& t) { return Tensors{searchsorted(t[0], t[1], {.right = right})}; },
          {Tensor::from(sorted, {3, length}), values}, {3, 5},
          places_wanted(sorted, values.to_vector<float>(), 3, right));
    }
}

TEST(SearchSorted, TakesOneSequenceForAll) {
  Tensor sorted = Tensor::from(Floats{1, 3, 3, 7}, {4});
  const float none = std::numeric_limits<float>::quiet_NaN();
  expect_equal<std::int32_t>(
      [](const Tensors& t) {
        return Tensors{searchsorted(t[0], t[1], {.right = true, .out_int32 = true})};
      },
      {sorted, Tensor::from(Floats{0, 3, 9, none}, {2, 2})}, {2, 2}, {0, 3, 4, 4});
  expect_equal<std::int64_t>([](const Tensors& t) { return Tensors{searchsorted(t[0], 3)}; },
                             {sorted}, {}, {1});
  expect_equal<std::int64_t>([](const Tensors& t) { return Tensors{bucketize(t[1], t[0])}; },
                             {sorted, Tensor::from(Integers{7, 8}, {2})}, {2}, {3, 4});
  EXPECT_EQ(searchsorted(zeros({0}), zeros({2})).to_vector<std::int64_t>(), (Integers{0, 0}));
}

TEST(SearchSorted, SortsBySorter) {
  Dice dice(2);
  Tensor x = dice.floats({2, 30}), values = dice.floats({2, 9});
  Floats all = x.to_vector<float>(), sorted = all;
  Integers order;
  for (std::ptrdiff_t row = 0; row < 2; ++row) {
    Integers of_row(30);
    std::iota(of_row.begin(), of_row.end(), 0);
    std::ranges::sort(of_row, {},
                      [&](std::int64_t i) { return all[static_cast<std::size_t>(row * 30 + i)]; });
    order.insert(order.end(), of_row.begin(), of_row.end());
    std::sort(sorted.begin() + row * 30, sorted.begin() + (row + 1) * 30);
  }
  expect_equal<std::int64_t>(
      [](const Tensors& t) { return Tensors{searchsorted(t[0], t[1], {.sorter = t[2]})}; },
      {x, values, Tensor::from(order, {2, 30})}, {2, 9},
      places_wanted(sorted, values.to_vector<float>(), 2, false));
}

TEST(SearchSorted, SaysWhatDoesNotFit) {
  Tensor rows = zeros({2, 3});
  expect_contains(error_of([&] { searchsorted(zeros({}), zeros({1})); }),
                  "it must have one at least");
  expect_contains(error_of([&] {
                    searchsorted(rows, zeros({3, 3}));
                  }),
                  "equal axes but for the last");
  expect_contains(error_of([&] { searchsorted(rows, rows, {.sorter = zeros({3}, i64)}); }),
                  "they must have one shape");
  expect_contains(error_of([&] {
                    searchsorted(rows, rows, {.sorter = ones({2, 3}, i64) * 3});
                  }),
                  "index 3 is outside 3 places");
  expect_contains(error_of([&] { bucketize(rows, rows); }), "they must have one axis");
}

}  // namespace
}  // namespace tilewright::searching_test
