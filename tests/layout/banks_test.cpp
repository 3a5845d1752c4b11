// Ranks against a count of words by bank, lane by lane; and no conflicts where products need it.
#include "dsl/layout/banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/layout/families.h"
#include "runtime/base/error.h"
#include "tests/layout/layout_cases.h"
#include "tests/property/seeds.h"

namespace tilewright::dsl::layout::banks_test {
namespace {

// Wavefronts beyond one a turn, of the access of these registers by one warp: the machine's rule,
// word by word.
int counted_conflicts(const Layout& layout, const SharedLayout& shared, int first_register,
                      int warp, int bytes) {
  int turn = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, extra = 0;
  for (int begin = 0; begin < layout.lanes(); begin += turn) {
    std::map<std::int64_t, std::set<std::int64_t>> words_by_bank;
    for (int lane = begin; lane < std::min(begin + turn, layout.lanes()); ++lane) {
      std::int64_t offset = shared.offset(layout.at(first_register, lane, warp));
      for (std::int64_t word = offset / 4; word * 4 < offset + bytes; ++word)
        words_by_bank[word % 32].insert(word);
    }
    std::size_t most = 1;
    for (const auto& [bank, words] : words_by_bank) most = std::max(most, words.size());
    extra += static_cast<int>(most) - 1;
  }
  return extra;
}

SharedLayout random_shared(std::mt19937_64& random, const Shape& shape, int element_bytes) {
  int bits = element_bits(shape);
  while (random() % 4 != 0) {
    std::vector<std::uint64_t> columns;
    for (int bit = 0; bit < bits; ++bit)
      columns.push_back(random() % 2 ? std::uint64_t{1} << bit
                                     : random() & ((std::uint64_t{1} << bits) - 1));
    BitMatrix order(bits, columns);
    if (order.is_onto()) return SharedLayout::linear(shape, element_bytes, order);
  }
  return SharedLayout::row_major(shape, element_bytes);
}

void expect_counts_agree(const Layout& layout, const SharedLayout& shared,
                         const std::string& trace) {
  int bytes = shared.element_bytes();
  for (int width = 1; width <= widest_access(layout, shared); width *= 2) {
    int conflicts = bank_conflicts(layout, shared, bytes, width);
    std::set<int> met;
    for (const auto& access : accesses(layout, shared, width)) {
      for (int warp = 0; warp < layout.warps(); ++warp) {
        ASSERT_EQ(counted_conflicts(layout, shared, access[0], warp, bytes * width), conflicts)
            << trace << to_string(layout) << to_string(shared);
        for (int lane = 0; lane < layout.lanes(); ++lane) {
          std::int64_t address = shared.offset(layout.at(access[0], lane, warp));
          ASSERT_EQ(address % (bytes * width), 0) << trace;
          for (int i = 0; i < width; ++i)
            ASSERT_EQ(shared.offset(layout.at(access[static_cast<std::size_t>(i)], lane, warp)),
                      address + i * bytes)
                << trace;
        }
      }
      met.insert(access.begin(), access.end());
    }
    std::vector<int> distinct = distinct_registers(layout);
    ASSERT_EQ(met, std::set<int>(distinct.begin(), distinct.end())) << trace;
  }
}

TEST(Banks, RanksCountWhatTheMachineCounts) {
  for (std::uint64_t seed : seeds_of_test(2000)) {
    std::mt19937_64 random(seed);
    Shape shape = random_physical_shape(random, 9);
    Layout layout = random_layout(random, shape, static_cast<int>(random() % 6),
                                  static_cast<int>(random() % 2), static_cast<int>(random() % 2));
    int bytes = 1 << random() % 4;
    expect_counts_agree(layout, random_shared(random, shape, bytes), reproduction(seed));
  }
}

TEST(Banks, RanksCountWhatTheMachineCountsForTheFamilies) {
  for (const Shape& shape : {Shape{64, 64}, Shape{32, 128}, Shape{1024}})
    for (const LayoutCase& layout : layout_cases(shape, 4)) {
      expect_counts_agree(layout.layout, SharedLayout::row_major(shape, 2), layout.name);
      if (shape.rank() == 2)
        expect_counts_agree(layout.layout, SharedLayout::tma(shape, 2, 128), layout.name);
    }
}

TEST(Banks, AColumnOfWordsIsTheWorstCase) {
  Layout column({32, 32}, {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}},
                {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}, {});
  EXPECT_EQ(bank_conflicts(column, SharedLayout::row_major({32, 32}, 4), 4, 1), 31);
  EXPECT_EQ(bank_conflicts(column, SharedLayout::xor_swizzled({32, 32}, 4, 1, 1, 32), 4, 1), 0);
  EXPECT_EQ(bank_conflicts(column, SharedLayout::row_major({32, 32}, 4), 4, 4), 4 * 7);
}

// As ldmatrix reads: each lane of a quarter warp 16 bytes of another row.
Layout row_reads(const Shape& shape, int element_bytes, int warps) {
  int vec = 16 / element_bytes;
  std::vector<Layout::Basis> registers, lanes, in_warps;
  for (int column = 1; column < vec; column *= 2) registers.push_back({0, column});
  int row = 1, column = vec;
  for (; row < 16; row *= 2) lanes.push_back({row, 0});
  lanes.push_back({0, column});
  for (; warps > 1 && row < shape[0]; warps /= 2, row *= 2) in_warps.push_back({row, 0});
  while ((column *= 2) < shape[1]) registers.push_back({0, column});
  for (; row < shape[0]; row *= 2) registers.push_back({row, 0});
  return {shape, registers, lanes, in_warps};
}

struct GemmTile {
  Shape shape;
  int element_bytes;
};
const std::vector<GemmTile> gemm_tiles = {
    {{128, 64}, 2}, {{128, 32}, 2}, {{64, 64}, 2},   {{256, 64}, 2},
    {{64, 32}, 2},  {{32, 128}, 2}, {{64, 256}, 2},  {{128, 16}, 2},
    {{128, 32}, 4}, {{64, 16}, 4},  {{128, 64}, 4},  {{128, 128}, 1},
    {{256, 64}, 1}, {{128, 32}, 1}, {{128, 128}, 2}, {{64, 128}, 2}};

// Boxes that wait to be stored: 64 rows of 128 bytes of a 16-bit type, written as accumulators lie.
TEST(ChooseSwizzle, BoxesOfAccumulatorsAreWrittenWithoutConflicts) {
  Shape box{64, 64};
  EXPECT_EQ(total_bank_conflicts(mma_result(box, 4, 1), SharedLayout::tma(box, 2, 128)), 0);
}

TEST(ChooseSwizzle, GemmTilesAreWrittenAndReadByRowsWithoutConflicts) {
  for (const GemmTile& tile : gemm_tiles)
    for (int warps : {4, 8}) {
      int vec = 16 / tile.element_bytes;
      Layout writer = blocked(tile.shape, vec, warps);
      Layout reader = row_reads(tile.shape, tile.element_bytes, warps);
      SharedLayout shared = choose_swizzle(writer, reader, tile.element_bytes);
      EXPECT_EQ(widest_access(writer, shared), vec);
      EXPECT_EQ(widest_access(reader, shared), vec) << tile.shape;
      EXPECT_EQ(total_bank_conflicts(writer, shared), 0) << tile.shape << to_string(shared);
      EXPECT_EQ(total_bank_conflicts(reader, shared), 0) << tile.shape << to_string(shared);
    }
}

TEST(ChooseSwizzle, TmaTilesAreReadByRowsWithoutConflicts) {
  for (const GemmTile& tile : gemm_tiles)
    for (int width : {32, 64, 128})
      if (tile.shape[1] * tile.element_bytes >= width) {
        SharedLayout shared = SharedLayout::tma(tile.shape, tile.element_bytes, width);
        EXPECT_EQ(total_bank_conflicts(row_reads(tile.shape, tile.element_bytes, 4), shared), 0)
            << tile.shape << " " << width;
      }
}

TEST(ChooseSwizzle, FragmentsAndRowsExchangeWithoutConflicts) {
  for (const Shape& shape : {Shape{64, 64}, Shape{128, 64}, Shape{128, 128}})
    for (int bytes : {2, 4}) {
      Layout rows = blocked(shape, 16 / bytes, 4), result = mma_result(shape, 2, 2);
      Layout turned = permute(blocked({shape[1], shape[0]}, 16 / bytes, 4), {1, 0});
      for (auto [from, to] : {std::pair{&result, &rows},
                              {&rows, &result},
                              {&rows, &turned},
                              {&turned, &rows},
                              {&turned, &result}}) {
        SharedLayout shared = choose_swizzle(*from, *to, bytes);
        EXPECT_EQ(total_bank_conflicts(*from, shared), 0) << to_string(*from) << to_string(shared);
        EXPECT_EQ(total_bank_conflicts(*to, shared), 0) << to_string(*to) << to_string(shared);
      }
    }
}

TEST(ChooseSwizzle, KeepsRowsWhereNothingIsToBeWon) {
  Layout rows = blocked({64, 64}, 8, 4);
  EXPECT_EQ(choose_swizzle(rows, rows, 2), SharedLayout::row_major({64, 64}, 2));
}

// With single elements a layout without conflicts exists for any two sides: the directions of each
// side's lanes in one turn leave room for all bits above the banks'.
TEST(ChooseSwizzle, FindsALayoutWithoutConflictsForAnyTwoSides) {
  for (std::uint64_t seed : seeds_of_test(1000)) {
    std::mt19937_64 random(seed);
    Shape shape = random_physical_shape(random, 13);
    Layout writer = random_layout(random, shape, 5, 2, 0);
    Layout reader = random_layout(random, shape, 5, 2, 1);
    SharedLayout shared = choose_swizzle(writer, reader, 1 << random() % 5);
    ASSERT_EQ(total_bank_conflicts(writer, shared), 0) << reproduction(seed) << to_string(shared);
    ASSERT_EQ(total_bank_conflicts(reader, shared), 0) << reproduction(seed) << to_string(shared);
  }
}

TEST(Banks, AccessesAreOfAPowerOfTwoOfBytes) {
  try {
    bank_conflicts(blocked({64, 64}, 8, 4), SharedLayout::row_major({64, 64}, 4), 4, 3);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("an access is at most 16 bytes"), std::string::npos);
  }
}

TEST(Banks, RefuseAccessesThatDoNotFit) {
  Layout rows = blocked({64, 64}, 8, 4);
  SharedLayout shared = SharedLayout::row_major({64, 64}, 2);
  EXPECT_THROW(bank_conflicts(rows, shared, 4, 1), InternalError);
  EXPECT_THROW(bank_conflicts(rows, shared, 2, 16), InternalError);
  EXPECT_THROW(bank_conflicts(blocked({64, 64}, 2, 4), shared, 2, 8), InternalError);
  EXPECT_THROW(accesses(rows, shared, 16), InternalError);
  EXPECT_THROW(widest_access(rows, SharedLayout::row_major({64, 32}, 2)), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::banks_test
