// Rows of an array that an index chooses, and atomic operations on blocks of it.
#include "dsl/language/words/descriptors.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::descriptors_test {
namespace {

using Whole = std::vector<std::int32_t>;
using Floats = std::vector<float>;

Floats counted(std::size_t count) {
  Floats x(count);
  std::iota(x.begin(), x.end(), 1.0F);
  return x;
}

constexpr std::int64_t height = 7, width = 11;

TEST(Descriptors, GatherRowsAndGiveZeroOutside) {
  in_every_way(
      [](Pointer x, Pointer rows, Pointer out) {
        Desc array = make_desc(x, {height, width}, {width, 1});
        put(out, gather(array, load(rows + arange(0, 5)), 4, 9));
      },
      [](const Floats& x, const Whole& rows, const Floats& out) {
        for (std::int64_t i = 0; i < 5; ++i)
          for (std::int64_t j = 0; j < 9; ++j) {
            const std::int64_t row = rows[static_cast<std::size_t>(i)], column = 4 + j;
            const bool inside = row >= 0 && row < height && column < width;
            ASSERT_EQ(out[static_cast<std::size_t>(i * 9 + j)],
                      inside ? x[static_cast<std::size_t>(row * width + column)] : 0);
          }
      },
      counted(height * width), Whole{3, -1, 6, 7, 3}, Floats(45));
}

TEST(Descriptors, ScatterRowsAndLeaveTheOthers) {
  in_every_way(
      [](Pointer x, Pointer rows, Pointer value) {
        Desc array = make_desc(x, {height, width}, {width, 1});
        scatter(array, block(value, {4, 6}), load(rows + arange(0, 4)), 8);
      },
      [](const Floats& x, const Whole&, const Floats& value) {
        for (std::int64_t r = 0; r < height; ++r)
          for (std::int64_t c = 0; c < width; ++c) {
            const auto at = static_cast<std::size_t>(r * width + c);
            const std::int64_t from = r == 5 ? 0 : r == 0 ? 2 : -1;
            const bool is_new = from >= 0 && c >= 8;
            ASSERT_EQ(x[at], is_new ? value[static_cast<std::size_t>(from * 6 + c - 8)]
                                    : static_cast<float>(at + 1));
          }
      },
      counted(height * width), Whole{5, 9, 0, -3}, Floats(24, 100));
}

TEST(Descriptors, AddToBlocksWithinTheArray) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Desc array = make_desc(x, {height, width}, {width, 1});
        put(out, atomic_add(array, {5, -2}, full({4, 8}, 1000, i32)));
        atomic_max(array, {0, 0}, full({1, 2}, 40, i32), MemoryOrder::release);
      },
      [](const Whole& x, const Whole& out) {
        EXPECT_EQ(x[0], 40);
        EXPECT_EQ(x[1], 40);
        for (std::int64_t at = 2; at < height * width; ++at) {
          const std::int64_t r = at / width, c = at % width;
          ASSERT_EQ(x[static_cast<std::size_t>(at)], at + (r >= 5 && c < 6 ? 1000 : 0));
        }
        EXPECT_EQ(out[0], 0);
        EXPECT_EQ(out[2], 5 * width);
        EXPECT_EQ(out[16], 0);
      },
      [] {
        Whole x(height * width);
        std::iota(x.begin(), x.end(), 0);
        return x;
      }(),
      Whole(32));
}

TEST(Descriptors, NameWhatDoesNotFit) {
  auto error = [](const std::function<void(const Desc&)>& body) {
    return error_of([&] {
      Kernel("k", [&](Pointer p) { body(make_desc(p, {4, 4}, {4, 1})); }).trace({i32});
    });
  };
  EXPECT_THAT(error([](const Desc& d) { gather(d, 3, 0, 4); }),
              testing::HasSubstr("[gather] the rows are i64; they must be a tile of integers with "
                                 "one axis"));
  EXPECT_THAT(error([](const Desc& d) { gather(d, arange(0, 2), arange(0, 2), 4); }),
              testing::HasSubstr("[gather] the column is i32[2]; it must be an integer scalar"));
  EXPECT_THAT(error([](const Desc& d) { gather(d, arange(0, 2), 0, 0); }),
              testing::HasSubstr("[gather] there are 0 columns; there must be one or more"));
  EXPECT_THAT(error([](const Desc& d) { scatter(d, 1, arange(0, 2), 0); }),
              testing::HasSubstr("[scatter] the value is i64; it must have two axes"));
  EXPECT_THAT(error([](const Desc& d) {
                atomic_add(d, {0}, full({2, 2}, 1, i32));
              }),
              testing::HasSubstr("[atomic] there are 1 offsets, the value is i32[2x2]; there must "
                                 "be one an axis"));
  EXPECT_THAT(error([](const Desc& d) { atomic_add(d, {0}, full({2}, 1, i32)); }),
              testing::HasSubstr("[atomic] there are 1 offsets for a descriptor of 2 axes; each "
                                 "must have one"));
}

}  // namespace
}  // namespace tilewright::dsl::descriptors_test
