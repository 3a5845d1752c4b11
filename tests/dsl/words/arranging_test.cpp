// Words that put elements elsewhere, and the operation that they are made of.
#include "dsl/language/words/arranging.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::arranging_test {
namespace {

using Whole = std::vector<std::int32_t>;
using Floats = std::vector<float>;

Whole counted(std::int64_t count, std::int32_t first = 0) {
  Whole numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::string trace_error(const std::function<void(Pointer)>& body) {
  return error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({f32}); });
}

TEST(Gather, TakesEachElementAtItsIndex) {
  // rows, columns, columns of the index
  for (auto [rows, columns, wanted] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 3}, {3, 5, 7}, {4, 64, 64}, {17, 33, 5}}) {
    Floats x(static_cast<std::size_t>(rows * columns)),
        out(static_cast<std::size_t>(rows * wanted));
    Whole index(out.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.5F;
    for (std::size_t i = 0; i < index.size(); ++i)
      index[i] = static_cast<std::int32_t>(i * 7919 % static_cast<std::size_t>(columns));
    in_every_way(
        [&](Pointer x, Pointer index, Pointer out) {
          put(out, gather(block(x, {rows, columns}), block(index, {rows, wanted}), 1));
        },
        [&](const Floats& x, const Whole& index, const Floats& out) {
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < wanted; ++c) {
              auto at = static_cast<std::size_t>(r * wanted + c);
              ASSERT_EQ(out[at], x[static_cast<std::size_t>(r * columns + index[at])]);
            }
        },
        x, index, out);
  }
}

TEST(Gather, GoesAlongAnyAxisWithAnIndexForAllOthers) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile i = expand_dims(expand_dims(cast(arange(0, 4), i64), 1), 0);
        put(out, gather(block(x, {2, 3, 5}), i * 2 - 1, 1));
      },
      [](const Whole& x, const Whole& out) {
        constexpr std::int64_t rows[] = {0, 1, 2, 2};
        for (std::int64_t o = 0; o < 2; ++o)
          for (std::int64_t k = 0; k < 4; ++k)
            for (std::int64_t i = 0; i < 5; ++i)
              ASSERT_EQ(out[static_cast<std::size_t>((o * 4 + k) * 5 + i)],
                        x[static_cast<std::size_t>((o * 3 + rows[k]) * 5 + i)]);
      },
      counted(30), Whole(40));
}

TEST(Gather, AnIndexOutsideMeansTheNearestElement) {
  in_every_way([](Pointer x, Pointer index,
                  Pointer out) { put(out, gather(block(x, {5}), block(index, {6}), 0)); },
               [](const Whole&, const std::vector<std::int64_t>&, const Whole& out) {
                 EXPECT_EQ(out, (Whole{10, 14, 10, 14, 13, 10}));
               },
               counted(5, 10), std::vector<std::int64_t>{-1, 5, INT64_MIN, INT64_MAX, 3, 0},
               Whole(6));
}

TEST(Gather, ReadsWhatALoopCarries) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Var v = block(x, {6});
        for (Tile i : range(0, 5)) v = gather(v, (arange(0, 6) + 1) % 6, 0) + cast(i, i32) * 10;
        put(out, v);
      },
      [](const Whole&, const Whole& out) {
        EXPECT_EQ(out, (Whole{105, 100, 101, 102, 103, 104}));
      },
      counted(6), Whole(6));
}

TEST(Gather, RefusesWhatDoesNotFit) {
  EXPECT_THAT(trace_error([](Pointer p) {
                gather(block(p, {4, 3}), arange(0, 3), 0);
              }),
              testing::HasSubstr("[gather] the index has the shape 3, the source 4x3; they must "
                                 "agree but for axis 0"));
  EXPECT_THAT(trace_error([](Pointer p) { gather(block(p, {4}), cast(arange(0, 3), i16), 0); }),
              testing::HasSubstr("[gather] the index is i16[3]; it must be i32 or i64: cast it"));
  EXPECT_THAT(trace_error([](Pointer p) { gather(load(p), arange(0, 3), 0); }),
              testing::HasSubstr("[gather] the operand is f32; it must have an axis"));
  EXPECT_THAT(trace_error([](Pointer p) { gather(p + arange(0, 3), arange(0, 3), 0); }),
              testing::HasSubstr("[gather] operand 0 is ptr<f32>[3]"));
}

TEST(Arranging, FlipsAlongAnAxis) {
  in_every_way(
      [](Pointer x, Pointer last, Pointer first) {
        put(last, flip(block(x, {3, 5})));
        put(first, flip(block(x, {3, 5}), 0));
      },
      [](const Whole& x, const Whole& last, const Whole& first) {
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t c = 0; c < 5; ++c) {
            EXPECT_EQ(last[r * 5 + c], x[r * 5 + 4 - c]);
            EXPECT_EQ(first[r * 5 + c], x[(2 - r) * 5 + c]);
          }
      },
      counted(15), Whole(15), Whole(15));
}

TEST(Arranging, JoinsAndSplitsALastAxisOfTwo) {
  in_every_way(
      [](Pointer x, Pointer y, Pointer joined, Pointer first, Pointer second) {
        Tile both = join(block(x, {3, 4}), block(y, {3, 4}));
        put(joined, both);
        auto [a, b] = split(both);
        put(first, a);
        put(second, b);
      },
      [](const Whole& x, const Whole& y, const Whole& joined, const Whole& first,
         const Whole& second) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          EXPECT_EQ(joined[2 * i], x[i]);
          EXPECT_EQ(joined[2 * i + 1], y[i]);
        }
        EXPECT_EQ(first, x);
        EXPECT_EQ(second, y);
      },
      counted(12), counted(12, 100), Whole(24), Whole(12), Whole(12));
}

TEST(Arranging, InterleavesAndPutsOneBehindTheOther) {
  in_every_way(
      [](Pointer x, Pointer y, Pointer mixed, Pointer line, Pointer rows) {
        put(mixed, interleave(block(x, {2, 3}), block(y, {2, 3})));
        put(line, cat(block(x, {6}), block(y, {4})));
        put(rows, cat(block(x, {2, 3}), block(y, {2, 2}), 1));
      },
      [](const Whole&, const Whole&, const Whole& mixed, const Whole& line, const Whole& rows) {
        EXPECT_EQ(mixed, (Whole{0, 50, 1, 51, 2, 52, 3, 53, 4, 54, 5, 55}));
        EXPECT_EQ(line, (Whole{0, 1, 2, 3, 4, 5, 50, 51, 52, 53}));
        EXPECT_EQ(rows, (Whole{0, 1, 2, 50, 51, 3, 4, 5, 52, 53}));
      },
      counted(6), counted(6, 50), Whole(12), Whole(10), Whole(10));
}

TEST(Arranging, BracketsAddAxes) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile line = block(x, {3});
        Tile table = line[{whole, None}] * 10 + line[{None, whole}];
        put(out, table);
        EXPECT_EQ(line[{None}].shape(), (Shape{1, 3}));
        EXPECT_EQ((table[{whole, None, whole}].shape()), (Shape{3, 1, 3}));
        EXPECT_EQ(squeeze(line[{None}], 0).shape(), (Shape{3}));
        EXPECT_EQ(unsqueeze(line, -1).shape(), (Shape{3, 1}));
        EXPECT_EQ(ravel(table).shape(), (Shape{9}));
        EXPECT_EQ(view(table, {9, 1}).shape(), (Shape{9, 1}));
        EXPECT_EQ(broadcast(line, table).first.shape(), (Shape{3, 3}));
      },
      [](const Whole&, const Whole& out) {
        EXPECT_EQ(out, (Whole{11, 12, 13, 21, 22, 23, 31, 32, 33}));
      },
      counted(3, 1), Whole(9));
}

TEST(Arranging, ZerosAreLikeATile) {
  in_every_way(
      [](Pointer x, Pointer out) {
        put(out, zeros_like(block(x, {2, 2})) + 0.5);
      },
      [](const Floats&, const Floats& out) { EXPECT_EQ(out, Floats(4, 0.5F)); }, Floats(4),
      Floats(4));
}

TEST(Arranging, SwizzlesTilesInGroupsOfRows) {
  // Triton's documentation: groups of two rows of four by four.
  in_every_way(
      [](Pointer out) {
        Tile n = arange(0, 16);
        auto [i, j] = swizzle2d(n / 4, n % 4, 4, 4, 2);
        store(out + (i * 4 + j), n);
      },
      [](const Whole& out) {
        EXPECT_EQ(out, (Whole{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}));
      },
      Whole(16));
}

TEST(Arranging, RefusesWhatDoesNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& text) {
    EXPECT_THAT(trace_error(body), testing::HasSubstr(text));
  };
  refused([](Pointer p) { split(block(p, {4})); },
          "[split] the operand is f32[4]; its last axis must have two elements");
  refused(
      [](Pointer p) {
        cat(block(p, {2, 2}), block(p, {3, 3}));
      },
      "[cat] the operands are f32[2x2] and f32[3x3]; they must agree but for the size along "
      "axis 0");
  refused([](Pointer p) { interleave(load(p), load(p)); },
          "[interleave] the operands are scalars; they must have an axis");
  refused([](Pointer p) { squeeze(block(p, {4}), 0); },
          "[squeeze] axis 0 of f32[4] has 4 elements; an axis that goes away must have one");
  refused(
      [](Pointer p) {
        block(p, {4})[{whole, whole}];
      },
      "[slice] there are 2 axes in the brackets, and f32[4] has 1");
  refused([](Pointer p) { zeros_like(p); },
          "[zeros_like] the operand is ptr<f32>; it must be a scalar or a tile of numbers");
  refused([](Pointer p) { swizzle2d(load(p), load(p), 1.0, 1.0, 1.0); },
          "[swizzle2d] the operands are f32; they must be integers");
}

}  // namespace
}  // namespace tilewright::dsl::arranging_test
