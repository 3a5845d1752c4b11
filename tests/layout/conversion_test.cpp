// Every plan is carried out element by element; which kind it is, is checked where it matters.
#include "dsl/layout/conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "dsl/layout/banks.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"
#include "tests/layout/layout_cases.h"
#include "tests/layout/verify_conversion.h"
#include "tests/property/seeds.h"

namespace tilewright::dsl::layout::conversion_test {
namespace {

using Kind = Conversion::Kind;

// Plans and carries out all conversions between the layouts of a shape. Says how many of each kind.
std::map<Kind, int> convert_all(const Shape& shape, int warps, int element_bytes) {
  std::map<Kind, int> kinds;
  std::vector<LayoutCase> cases = layout_cases(shape, warps);
  for (const LayoutCase& from : cases)
    for (const LayoutCase& to : cases) {
      Conversion plan = plan_conversion(from.layout, to.layout, element_bytes);
      ++kinds[plan.kind];
      std::string wrong = verify_conversion(from.layout, to.layout, plan);
      EXPECT_EQ(wrong, "") << from.name << " to " << to.name << " of " << shape << ", " << warps
                           << " warps";
    }
  return kinds;
}

TEST(Conversion, MovesEveryElementBetweenAllFamilies) {
  std::map<Kind, int> kinds;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{8}, Shape{256}, Shape{16, 8}, Shape{4, 64},
                             Shape{64, 32}, Shape{128, 16}, Shape{2, 8, 32}, Shape{1024}})
    for (int warps : {1, 2, 4, 8})
      for (auto [kind, count] : convert_all(shape, warps, 2)) kinds[kind] += count;
  for (Kind kind : {Kind::none, Kind::registers, Kind::shuffle, Kind::shared})
    EXPECT_GT(kinds[kind], 50) << static_cast<int>(kind);
}

TEST(Conversion, MovesEveryElementOfGemmTiles) {
  for (const Shape& shape : {Shape{64, 64}, Shape{128, 64}}) convert_all(shape, 4, 4);
  convert_all({128, 32}, 8, 1);
}

TEST(Conversion, MovesEveryElementOfTheLargestTiles) {
  for (const Shape& shape : {Shape{256, 256}, Shape{65536}}) {
    Layout rows = blocked(shape, 8, 8);
    Layout other = shape.rank() == 2 ? wgmma_result(256, 256, 2) : blocked(shape, 2, 8);
    for (auto [from, to] : {std::pair{&rows, &other}, {&other, &rows}})
      EXPECT_EQ(verify_conversion(*from, *to, plan_conversion(*from, *to, 2)), "");
  }
}

// Random layouts have replicas and dependent bases of every kind.
TEST(Conversion, MovesEveryElementBetweenRandomLayouts) {
  std::map<Kind, int> kinds;
  for (std::uint64_t seed : seeds_of_test(10'000)) {
    std::mt19937_64 random(seed);
    Shape shape = random_physical_shape(random, 8);
    int lanes = static_cast<int>(random() % 6), warps = static_cast<int>(random() % 3);
    Layout from = random_layout(random, shape, lanes, warps, static_cast<int>(random() % 3));
    Layout to = random_layout(random, shape, lanes, warps, static_cast<int>(random() % 3));
    Conversion plan = plan_conversion(from, to, 1 << random() % 4);
    ++kinds[plan.kind];
    ASSERT_EQ(verify_conversion(from, to, plan), "") << reproduction(seed) << "\n"
                                                     << to_string(from) << to_string(to);
    ASSERT_LE(static_cast<int>(plan.exchanges.size()), 2 * to.registers()) << reproduction(seed);
    if (plan.kind != Kind::shared) continue;
    ASSERT_EQ(total_bank_conflicts(from, *plan.shared) + total_bank_conflicts(to, *plan.shared), 0)
        << reproduction(seed);
  }
  if (seeds_of_test(2).size() < 2) return;  // a single case is repeated
  for (Kind kind : {Kind::registers, Kind::shuffle, Kind::shared})
    EXPECT_GT(kinds[kind], 100) << static_cast<int>(kind);
}

// A warp that is alone never needs shared memory unless lanes collide too often.
TEST(Conversion, ShufflesWithinAWarp) {
  for (std::uint64_t seed : seeds_of_test(5000)) {
    std::mt19937_64 random(seed);
    Shape shape{1 << (5 + random() % 4)};
    Layout from = random_layout(random, shape, 5, 0, 0), to = random_layout(random, shape, 5, 0, 0);
    Conversion plan = plan_conversion(from, to, 4);
    ASSERT_EQ(plan.kind, Kind::shuffle) << reproduction(seed);
    ASSERT_EQ(static_cast<int>(plan.exchanges.size()), to.registers()) << reproduction(seed);
    ASSERT_EQ(verify_conversion(from, to, plan), "") << reproduction(seed);
  }
}

TEST(Conversion, IsNothingBetweenEqualLayouts) {
  for (const LayoutCase& layout : layout_cases({64, 32}, 4))
    EXPECT_EQ(plan_conversion(layout.layout, layout.layout, 4).kind, Kind::none) << layout.name;
}

TEST(Conversion, RenumbersRegistersWithinAThread) {
  Layout from({8}, {{1}, {2}}, {{4}}, {}), to({8}, {{2}, {1}, {3}}, {{4}}, {});
  Conversion plan = plan_conversion(from, to, 4);
  EXPECT_EQ(plan.kind, Kind::registers);
  EXPECT_EQ(plan.source_register, (std::vector<int>{0, 2, 1, 3, 3, 1, 2, 0}));
}

TEST(Conversion, ADroppedReplicaIsARegisterOfTheSameThread) {
  Layout from = slice(blocked({64, 32}, 4, 4), 0);  // held by rows, all of them alike now
  EXPECT_GT(from.registers(), drop_duplicate_registers(from).registers());
  EXPECT_EQ(plan_conversion(from, drop_duplicate_registers(from), 4).kind, Kind::registers);
}

TEST(Conversion, OneShuffleExchangesNeighbours) {
  Layout from({4}, {}, {{1}, {2}}, {}), to({4}, {}, {{1}, {3}}, {});
  Conversion plan = plan_conversion(from, to, 4);
  ASSERT_EQ(plan.kind, Kind::shuffle);
  ASSERT_EQ(plan.exchanges.size(), 1U);
  EXPECT_EQ(plan.exchanges[0].source_lane, (Affine{0, {1, 3}}));
  EXPECT_TRUE(plan.exchanges[0].give.is_constant());
}

TEST(Conversion, ALaneThatHasAllSelectsWithoutAShuffle) {
  // Every lane holds both elements; lane l is to hold element l.
  Layout from({2}, {{1}}, {{0}}, {}), to({2}, {}, {{1}}, {});
  Conversion plan = plan_conversion(from, to, 4);
  ASSERT_EQ(plan.kind, Kind::shuffle);
  ASSERT_EQ(plan.exchanges.size(), 1U);
  EXPECT_FALSE(plan.exchanges[0].moves_lanes);
  EXPECT_EQ(plan.exchanges[0].give, (Affine{0, {1}}));
}

TEST(Conversion, LanesThatWantDifferentRegistersOfOneTakeTurns) {
  // Both values of lane bit 0 take from one lane, which holds the values they want in two
  // registers; the values that other registers want lie in that same lane, so filling them first
  // does not help.
  Layout from({8}, {{1}, {2}}, {{4}, {0}}, {}), to({8}, {{2}}, {{1}, {4}}, {});
  Conversion plan = plan_conversion(from, to, 4);
  ASSERT_EQ(plan.kind, Kind::shuffle);
  EXPECT_EQ(plan.exchanges.size(), 4U);
  EXPECT_EQ(verify_conversion(from, to, plan), "");
}

TEST(Conversion, TheResultOfOneProductIsTheOperandOfTheNextInPlace) {
  // m16n8k16: c0 to c3 of two neighbouring results are a0 to a7 of 16 bits. So attention needs no
  // shared memory between its products.
  EXPECT_EQ(plan_conversion(mma_result({64, 64}, 4, 1), mma_operand_a({64, 64}, 4, 1, 16), 2).kind,
            Kind::none);
  EXPECT_EQ(plan_conversion(wgmma_result(128, 64, 2), wgmma_operand_a(128, 64, 2, 16), 2).kind,
            Kind::none);
}

TEST(Conversion, ThroughSharedMemoryIsAsWideAsBothSidesAllow) {
  Layout rows = blocked({128, 64}, 8, 4), result = mma_result({128, 64}, 2, 2);
  Conversion plan = plan_conversion(result, rows, 2);
  ASSERT_EQ(plan.kind, Kind::shared);
  EXPECT_EQ(plan.read_vector, 8);
  EXPECT_GE(plan.write_vector, 2);
  EXPECT_EQ(total_bank_conflicts(result, *plan.shared), 0);
  EXPECT_EQ(total_bank_conflicts(rows, *plan.shared), 0);
}

TEST(Conversion, KeepsShapeAndThreads) {
  EXPECT_THROW(plan_conversion(blocked({8}, 1, 1), blocked({16}, 1, 1), 4), InternalError);
  EXPECT_THROW(plan_conversion(blocked({8}, 1, 1), blocked({8}, 1, 2), 4), InternalError);
  EXPECT_THROW(plan_conversion(blocked({8}, 1, 1, 16), blocked({8}, 1, 1), 4), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::conversion_test
