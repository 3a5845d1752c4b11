// Reductions and scans, with functions of the user's too.
#include "dsl/language/words/folding.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dsl/language/words/arranging.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::folding_test {
namespace {

using Whole = std::vector<std::int32_t>;
using Floats = std::vector<float>;

Whole scattered(std::size_t count, std::int32_t modulus = 1000) {
  Whole numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<std::int32_t>(i * 7919 + 13) % modulus - modulus / 3;
  return numbers;
}

TEST(Folding, OfAllElementsGivesAScalar) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile t = block(x, {3, 7});
        put(out + 0, sum(t));
        put(out + 1, max(t));
        put(out + 2, min(t));
        put(out + 3, argmax(t));
        put(out + 4, argmin(t));
        put(out + 5, reduce(t, [](Tile a, Tile b) { return a ^ b; }));
        put(out + 6, sum(load(x)));
      },
      [](const Whole& x, const Whole& out) {
        auto place = [&](auto it) { return static_cast<std::int32_t>(it - x.begin()); };
        EXPECT_EQ(out, (Whole{std::accumulate(x.begin(), x.end(), 0), *std::ranges::max_element(x),
                              *std::ranges::min_element(x), place(std::ranges::max_element(x)),
                              place(std::ranges::min_element(x)),
                              std::accumulate(x.begin(), x.end(), 0, std::bit_xor<>()), x[0]}));
      },
      scattered(21), Whole(7));
}

TEST(Folding, EachKindAlongAnAxis) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile t = block(x, {4, 5});
        put(out, xor_sum(t, 1));
        put(out + 4, reduce_or(t, 1));
        put(out + 8, prod(t % 4 + 1, 1));
        auto [most, at] = max_with_index(t, 1);
        put(out + 12, most);
        put(out + 16, at);
        auto [least, where_least] = min_with_index(t, 1);
        put(out + 20, least);
        put(out + 24, where_least);
        put(out + 28, cast(any(t > 600, 1), i32) + cast(all(t > -200, 1), i32) * 2);
        EXPECT_EQ(xor_sum(t, 1, true).shape(), (Shape{4, 1}));
      },
      [](const Whole& x, const Whole& out) {
        for (std::size_t r = 0; r < 4; ++r) {
          auto begin = x.begin() + static_cast<std::ptrdiff_t>(5 * r), end = begin + 5;
          EXPECT_EQ(out[r], std::accumulate(begin, end, 0, std::bit_xor<>()));
          EXPECT_EQ(out[4 + r], std::accumulate(begin, end, 0, std::bit_or<>()));
          EXPECT_EQ(out[8 + r],
                    std::accumulate(begin, end, 1, [](int a, int b) { return a * (b % 4 + 1); }));
          EXPECT_EQ(out[12 + r], *std::max_element(begin, end));
          EXPECT_EQ(out[16 + r], std::max_element(begin, end) - begin);
          EXPECT_EQ(out[20 + r], *std::min_element(begin, end));
          EXPECT_EQ(out[24 + r], std::min_element(begin, end) - begin);
          EXPECT_EQ(out[28 + r],
                    int(std::any_of(begin, end, [](int v) { return v > 600; })) +
                        2 * int(std::all_of(begin, end, [](int v) { return v > -200; })));
        }
      },
      scattered(20), Whole(32));
}

// Two affine functions one after the other, x -> a x + b: associative and not commutative.
Tiles composed(const Tiles& f, const Tiles& g) { return {g[0] * f[0], g[0] * f[1] + g[1]}; }

TEST(Folding, AFunctionOfTuplesKeepsTheOrder) {
  for (std::int64_t count : {1, 2, 3, 7, 8, 13, 64, 100}) {
    SCOPED_TRACE(count);
    auto size = static_cast<std::size_t>(3 * count);
    in_every_way(
        [&](Pointer a, Pointer b, Pointer out, Pointer scan, Pointer back) {
          Tile scale = block(a, {3, count}), shift = block(b, {3, count});
          Tiles all = reduce({scale, shift}, 1, composed);
          put(out, join(all[0], all[1]));
          put(scan, associative_scan({scale, shift}, 1, composed)[1]);
          put(back, associative_scan({scale, shift}, 1, composed, true)[1]);
        },
        [&](const Whole& a, const Whole& b, const Whole& out, const Whole& scan,
            const Whole& back) {
          for (std::size_t r = 0; r < 3; ++r) {
            auto fold = [&](bool reverse, const Whole& scanned) {
              std::uint32_t scale = 1, shift = 0;
              for (std::int64_t k = 0; k < count; ++k) {
                auto at = r * static_cast<std::size_t>(count) +
                          static_cast<std::size_t>(reverse ? count - 1 - k : k);
                auto next = static_cast<std::uint32_t>(a[at]);
                scale *= next;
                shift = next * shift + static_cast<std::uint32_t>(b[at]);
                EXPECT_EQ(static_cast<std::uint32_t>(scanned[at]), shift) << at;
              }
              return std::pair(scale, shift);
            };
            auto [scale, shift] = fold(false, scan);
            EXPECT_EQ(static_cast<std::uint32_t>(out[2 * r]), scale);
            EXPECT_EQ(static_cast<std::uint32_t>(out[2 * r + 1]), shift);
            fold(true, back);
          }
        },
        scattered(size, 7), scattered(size), Whole(6), Whole(size), Whole(size));
  }
}

TEST(Folding, SumsAndProductsSoFar) {
  Floats x(5 * 33);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 23) / 16 - 0.5F;
  in_every_way(
      [](Pointer x, Pointer along, Pointer down, Pointer product) {
        Tile t = block(x, {5, 33});
        put(along, cumsum(t, 1));
        put(down, cumsum(t, 0, true));
        put(product, cumprod(t, 1));
      },
      [](const Floats& x, const Floats& along, const Floats& down, const Floats& product) {
        for (std::size_t r = 0; r < 5; ++r) {
          double sum = 0, prod = 1;
          for (std::size_t c = 0; c < 33; ++c) {
            auto at = r * 33 + c;
            ASSERT_NEAR(along[at], sum += x[at], 1e-5);
            ASSERT_NEAR(product[at], prod *= x[at], 1e-5);
          }
        }
        for (std::size_t c = 0; c < 33; ++c) {
          double sum = 0;
          for (std::size_t r = 5; r-- > 0;)
            ASSERT_NEAR(down[r * 33 + c], sum += x[r * 33 + c], 1e-5);
        }
      },
      x, Floats(x.size()), Floats(x.size()), Floats(x.size()));
}

// Along either axis, within a thread, a warp and a block, of all widths.
template <typename T>
void expect_joined_bits(const Shape& shape) {
  std::vector<T> x;
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    x.push_back(static_cast<T>((state = state * 6364136223846793005U + 1442695040888963407U) >> 9 |
                               std::uint64_t{0x30}));
  const auto rows = static_cast<std::size_t>(shape[0]),
             columns = static_cast<std::size_t>(shape[1]);
  const auto most = static_cast<std::int64_t>(rows + columns);
  in_every_way(
      [&](Pointer x, Pointer out) {
        Tile t = block(x, shape);
        put(out, reduce_and(t, 1));
        put(out + shape[0], reduce_and(t, 0));
        put(out + most, reduce_or(t, 1));
        put(out + (most + shape[0]), reduce_or(t, 0));
        put(out + 2 * most, xor_sum(t, 1));
        put(out + (2 * most + shape[0]), xor_sum(t, 0));
      },
      [&](const std::vector<T>& x, const std::vector<T>& out) {
        for (std::size_t i = 0; i < rows + columns; ++i) {
          T all = static_cast<T>(~T{0}), some{}, odd{};
          const bool is_row = i < rows;
          for (std::size_t j = 0; j < (is_row ? columns : rows); ++j) {
            const T each = is_row ? x[i * columns + j] : x[j * columns + i - rows];
            all = static_cast<T>(all & each);
            some = static_cast<T>(some | each);
            odd = static_cast<T>(odd ^ each);
          }
          EXPECT_EQ(out[i], all) << i;
          EXPECT_EQ(out[rows + columns + i], some) << i;
          EXPECT_EQ(out[2 * (rows + columns) + i], odd) << i;
        }
      },
      x, std::vector<T>(3 * (rows + columns)));
}

TEST(Folding, BitsAreJoinedAlongEitherAxis) {
  expect_joined_bits<std::int8_t>({5, 3});
  expect_joined_bits<std::uint16_t>({17, 33});
  expect_joined_bits<std::int32_t>({4, 300});
  expect_joined_bits<std::uint32_t>({257, 3});
  expect_joined_bits<std::int64_t>({16, 64});
  expect_joined_bits<std::uint64_t>({1, 7});
}

TEST(Folding, RefusesWhatDoesNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& text) {
    EXPECT_THAT(error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({f32}); }),
                testing::HasSubstr(text));
  };
  auto first = [](const Tile& a, const Tile&) { return a; };
  refused([&](Pointer p) { reduce(load(p), 0, first); },
          "[reduce] the operand is f32; it must have an axis");
  refused([&](Pointer p) { associative_scan(p + arange(0, 4), 0, first); },
          "[associative_scan] an operand is ptr<f32>[4]; it must be a tile of numbers");
  refused([](Pointer) { reduce(std::vector<Operand>{}, 0, composed); },
          "[reduce] there are no operands; it takes one or more");
  refused(
      [](Pointer p) {
        Tile x = block(p, {4});
        reduce({x, x}, 0, [](const Tiles& a, const Tiles&) { return Tiles{a[0]}; });
      },
      "[reduce] the function gives 1 tiles of 2; it must give one for each");
  refused(
      [](Pointer p) {
        reduce(block(p, {4}), 0, [](const Tile& a, const Tile& b) { return a < b; });
      },
      "[reduce] the function gives bool[2] of two f32[2]; it must keep the type");
  refused([](Pointer p) { xor_sum(block(p, {4}), 0); },
          "[reduce] bit_xor of f32[4]; it needs integers");
  refused([](Pointer p) { reduce_and(block(p, {4}) > 0, 0); },
          "[reduce] bit_and of bool[4]; it needs numbers");
}

}  // namespace
}  // namespace tilewright::dsl::folding_test
