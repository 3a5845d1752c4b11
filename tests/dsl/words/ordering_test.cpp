// Sorting, the greatest k, and counting.
#include "dsl/language/words/ordering.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::ordering_test {
namespace {

using Whole = std::vector<std::int32_t>;
using Floats = std::vector<float>;

template <typename T>
std::vector<T> scattered(std::size_t count, std::uint64_t modulus) {
  std::vector<T> numbers(count);
  std::uint64_t state = 12345;
  for (T& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<T>(static_cast<T>((state >> 33) % modulus) - static_cast<T>(modulus / 2));
  }
  return numbers;
}

template <typename T>
void expect_sorted(std::int64_t rows, std::int64_t size) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(size));
  auto count = static_cast<std::size_t>(rows * size);
  in_every_way(
      [&](Pointer x, Pointer up, Pointer down) {
        put(up, sort(block(x, {rows, size})));
        put(down, sort(block(x, {rows, size}), 1, true));
      },
      [&](const std::vector<T>& x, const std::vector<T>& up, const std::vector<T>& down) {
        for (std::size_t first = 0; first < count; first += static_cast<std::size_t>(size)) {
          std::vector<T> row(x.begin() + static_cast<std::ptrdiff_t>(first),
                             x.begin() + static_cast<std::ptrdiff_t>(first) + size);
          std::ranges::sort(row);
          for (std::size_t i = 0; i < row.size(); ++i) {
            ASSERT_EQ(up[first + i], row[i]);
            ASSERT_EQ(down[first + i], row[row.size() - 1 - i]);
          }
        }
      },
      scattered<T>(count, 100), std::vector<T>(count), std::vector<T>(count));
}

TEST(Ordering, SortsRowsOfEachSize) {
  for (std::int64_t size : {1, 2, 3, 5, 8, 31, 64}) expect_sorted<float>(3, size);
  expect_sorted<float>(1, 256);
}

TEST(Ordering, SortsEachType) {
  expect_sorted<double>(2, 9);
  expect_sorted<std::int8_t>(2, 9);
  expect_sorted<std::int16_t>(2, 9);
  expect_sorted<std::int32_t>(2, 9);
  expect_sorted<std::int64_t>(2, 9);
  expect_sorted<std::uint8_t>(2, 9);
  expect_sorted<std::uint32_t>(2, 9);
  expect_sorted<std::uint64_t>(2, 9);
}

TEST(Ordering, NoNumberIsGreaterThanNaN) {
  const float none = std::numeric_limits<float>::quiet_NaN(), infinity = HUGE_VALF;
  in_every_way([](Pointer x, Pointer out) { put(out, sort(block(x, {7}))); },
               [&](const Floats&, const Floats& out) {
                 for (std::size_t i = 0; i < 5; ++i)
                   EXPECT_EQ(out[i], (Floats{-infinity, -0.0F, 0.0F, 1, infinity})[i]) << i;
                 EXPECT_TRUE(std::signbit(out[1]));
                 EXPECT_FALSE(std::signbit(out[2]));
                 EXPECT_TRUE(std::isnan(out[5]) && std::isnan(out[6]));
               },
               Floats{none, 1, infinity, -none, 0.0F, -infinity, -0.0F}, Floats(7));
}

TEST(Ordering, EqualElementsKeepTheirOrder) {
  constexpr std::size_t rows = 2, size = 37;
  in_every_way(
      [](Pointer x, Pointer value, Pointer index) {
        auto [v, i] = sort_with_index(block(x, {rows, size}));
        put(value, v);
        put(index, i);
      },
      [](const Whole& x, const Whole& value, const Whole& index) {
        for (std::size_t r = 0; r < rows; ++r) {
          Whole order(size);
          std::iota(order.begin(), order.end(), 0);
          auto of = [&](std::int32_t i) { return x[r * size + static_cast<std::size_t>(i)]; };
          std::ranges::stable_sort(order, {}, of);
          for (std::size_t i = 0; i < size; ++i) {
            ASSERT_EQ(index[r * size + i], order[i]);
            ASSERT_EQ(value[r * size + i], of(order[i]));
          }
        }
      },
      scattered<std::int32_t>(rows * size, 6), Whole(rows * size), Whole(rows * size));
}

TEST(Ordering, GivesTheGreatest) {
  in_every_way(
      [](Pointer x, Pointer top, Pointer index, Pointer down) {
        put(top, topk(block(x, {2, 50}), 7));
        put(index, topk_with_index(block(x, {2, 50}), 7).index);
        put(down, topk(block(x, {50, 2}), 3, 0));
      },
      [](const Floats& x, const Floats& top, const Whole& index, const Floats& down) {
        for (std::size_t r = 0; r < 2; ++r) {
          Floats row(x.begin() + static_cast<std::ptrdiff_t>(50 * r),
                     x.begin() + static_cast<std::ptrdiff_t>(50 * r + 50));
          std::ranges::sort(row, std::greater<>());
          for (std::size_t i = 0; i < 7; ++i) {
            EXPECT_EQ(top[7 * r + i], row[i]);
            EXPECT_EQ(x[50 * r + static_cast<std::size_t>(index[7 * r + i])], row[i]);
          }
          Floats column;
          for (std::size_t i = 0; i < 50; ++i) column.push_back(x[2 * i + r]);
          std::ranges::sort(column, std::greater<>());
          for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(down[2 * i + r], column[i]);
        }
      },
      scattered<float>(100, 1000), Floats(14), Whole(14), Floats(6));
}

TEST(Ordering, MergesWhatRisesAndFalls) {
  in_every_way(
      [](Pointer x, Pointer up, Pointer down) {
        Tile t = block(x, {2, 16});
        put(up, bitonic_merge(t));
        put(down, bitonic_merge(trans(t), 0, true));
      },
      [](const Floats& x, const Floats& up, const Floats& down) {
        for (std::size_t r = 0; r < 2; ++r) {
          Floats row(x.begin() + static_cast<std::ptrdiff_t>(16 * r),
                     x.begin() + static_cast<std::ptrdiff_t>(16 * r + 16));
          std::ranges::sort(row);
          for (std::size_t i = 0; i < 16; ++i) {
            EXPECT_EQ(up[16 * r + i], row[i]);
            EXPECT_EQ(down[2 * (15 - i) + r], row[i]);
          }
        }
      },
      [] {
        Floats x;
        for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i < 5 ? 3 * i : 40 - 2 * i));
        for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i < 9 ? -i : i - 30));
        return x;
      }(),
      Floats(32), Floats(32));
}

TEST(Ordering, CountsIntoBins) {
  for (std::int64_t bins : {1, 5, 16, 100}) {
    in_every_way(
        [&](Pointer x, Pointer all, Pointer some) {
          Tile t = block(x, {10, 30});
          put(all, histogram(t, bins));
          put(some, histogram(t, bins, t % 2 == 0));
        },
        [&](const Whole& x, const Whole& all, const Whole& some) {
          Whole expected(static_cast<std::size_t>(bins)), even = expected;
          for (std::int32_t v : x) {
            if (v < 0 || v >= bins) continue;
            ++expected[static_cast<std::size_t>(v)];
            if (v % 2 == 0) ++even[static_cast<std::size_t>(v)];
          }
          EXPECT_EQ(all, expected);
          EXPECT_EQ(some, even);
        },
        scattered<std::int32_t>(300, 20), Whole(static_cast<std::size_t>(bins)),
        Whole(static_cast<std::size_t>(bins)));
  }
}

TEST(Ordering, RefusesWhatDoesNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& text) {
    EXPECT_THAT(error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({f32}); }),
                testing::HasSubstr(text));
  };
  refused([](Pointer p) { sort(p + arange(0, 4)); },
          "[sort] the operand is ptr<f32>[4]; it must be "
          "a tile, of floats of 16 bits at the least");
  refused([](Pointer p) { topk(block(p, {4}), 5); },
          "[topk] the count is 5; axis 0 of f32[4] has 1 to 4 elements to give");
  refused([](Pointer p) { bitonic_merge(block(p, {12})); },
          "[bitonic_merge] axis 0 of f32[12] has 12 elements; the number of merged elements must "
          "be a power of two");
  refused([](Pointer p) { histogram(block(p, {4}), 5); },
          "[histogram] the operand is f32[4]; it must be a tile of integers");
  refused([](Pointer) { histogram(arange(0, 4), 0); },
          "[histogram] there are 0 bins; there must be one or more");
}

}  // namespace
}  // namespace tilewright::dsl::ordering_test
