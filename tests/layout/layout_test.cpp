#include "dsl/layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "dsl/layout/families.h"
#include "runtime/base/error.h"
#include "tests/layout/layout_cases.h"
#include "tests/property/seeds.h"

namespace tilewright::dsl::layout::layout_test {
namespace {

using Coordinates = std::vector<std::int32_t>;
using testing::ElementsAre;

// Calls back with every place of a layout.
void for_each_place(const Layout& layout, const std::function<void(int, int, int)>& visit) {
  for (int warp = 0; warp < layout.warps(); ++warp)
    for (int lane = 0; lane < layout.lanes(); ++lane)
      for (int reg = 0; reg < layout.registers(); ++reg) visit(reg, lane, warp);
}

// One layout a seed, with 32 lanes or fewer, up to 8 warps, and replicas of all kinds.
Layout layout_of_seed(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Shape shape = random_physical_shape(random, 9);
  return random_layout(random, shape, static_cast<int>(random() % 6),
                       static_cast<int>(random() % 4), static_cast<int>(random() % 3));
}

constexpr std::uint64_t cases = 300;

TEST(Layout, HoldsTheXorOfTheBasesWhoseBitsAreSet) {
  Layout layout({16, 8}, {{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {});
  EXPECT_EQ(layout.registers(), 4);
  EXPECT_EQ(layout.lanes(), 32);
  EXPECT_EQ(layout.warps(), 1);
  EXPECT_THAT(layout.at(0, 0, 0), ElementsAre(0, 0));
  EXPECT_THAT(layout.at(3, 6, 0), ElementsAre(9, 5));
  EXPECT_EQ(to_string(layout),
            "16x8\n"
            "register: (0,1) (8,0)\n"
            "lane:     (0,2) (0,4) (1,0) (2,0) (4,0)\n"
            "warp:    \n");
}

TEST(Layout, TheMatrixNumbersElementsByRows) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    const Shape& shape = layout.shape();
    for_each_place(layout, [&](int reg, int lane, int warp) {
      Coordinates at = layout.at(reg, lane, warp);
      std::int64_t number = 0;
      for (int axis = 0; axis < shape.rank(); ++axis)
        number = number * shape[axis] + at[static_cast<std::size_t>(axis)];
      std::uint64_t place = static_cast<std::uint64_t>(reg) +
                            static_cast<std::uint64_t>(layout.registers()) *
                                static_cast<std::uint64_t>(lane + layout.lanes() * warp);
      ASSERT_EQ(layout.matrix().apply(place), static_cast<std::uint64_t>(number))
          << reproduction(seed);
      ASSERT_EQ(coordinates_of(shape, static_cast<std::uint64_t>(number)), at)
          << reproduction(seed);
    });
  }
}

TEST(Layout, MeetsEveryElementOnceWhereRedundantBitsAreZero) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    std::map<Coordinates, int> met;
    for_each_place(layout, [&](int reg, int lane, int warp) {
      auto is_replica = [&](In in, int index) {
        return (layout.redundant_bits(in) & static_cast<std::uint32_t>(index)) != 0;
      };
      if (!is_replica(In::register_, reg) && !is_replica(In::lane, lane) &&
          !is_replica(In::warp, warp))
        ++met[layout.at(reg, lane, warp)];
    });
    ASSERT_EQ(static_cast<std::int64_t>(met.size()), element_count(layout.shape()))
        << reproduction(seed);
    for (const auto& [at, times] : met) ASSERT_EQ(times, 1) << reproduction(seed);
  }
}

TEST(Layout, SaysWhichInputReplicates) {
  Layout layout({4}, {{1}, {1}}, {{2}, {3}}, {{0}});
  EXPECT_EQ(layout.redundant_bits(In::register_), 2U);
  EXPECT_EQ(layout.redundant_bits(In::lane), 2U);
  EXPECT_TRUE(layout.replicates(In::warp));
  EXPECT_FALSE(Layout({4}, {{1}}, {{2}}, {}).replicates(In::lane));
}

TEST(Layout, IsAValue) {
  Layout layout = blocked({16, 8}, 2, 2);
  EXPECT_EQ(layout, blocked({16, 8}, 2, 2));
  EXPECT_EQ(layout.hash(), blocked({16, 8}, 2, 2).hash());
  EXPECT_NE(layout, blocked({16, 8}, 1, 2));
  EXPECT_NE(layout.hash(), blocked({16, 8}, 1, 2).hash());
}

TEST(Layout, AScalarIsHeldByAll) {
  Layout layout({}, {}, {{}, {}}, {{}});
  EXPECT_EQ(layout.at(0, 3, 1), Coordinates());
  EXPECT_TRUE(layout.replicates(In::lane));
}

TEST(Layout, RefusesWhatIsNoLayout) {
  EXPECT_THROW(Layout({3}, {{1}, {2}}, {}, {}), InternalError);
  EXPECT_THROW(Layout({4}, {{1}}, {}, {}), InternalError);            // not onto
  EXPECT_THROW(Layout({4}, {{1}, {2}, {4}}, {}, {}), InternalError);  // outside
  EXPECT_THROW(Layout({4}, {{1, 0}, {2, 0}}, {}, {}), InternalError);
  EXPECT_THROW(blocked({4}, 1, 1).at(0, 32, 0), InternalError);
  auto scalar_of_bits = [](std::size_t bits) {  // held by each of 2^bits registers of threads
    return Layout({}, std::vector<Layout::Basis>(30), std::vector<Layout::Basis>(30),
                  std::vector<Layout::Basis>(bits - 60));
  };
  EXPECT_NO_THROW(scalar_of_bits(64));
  EXPECT_THROW(scalar_of_bits(65), InternalError);
}

// An operation on shapes must change coordinates as it changes those of the layout.
using Change = std::function<Coordinates(Coordinates)>;
void expect_same_places(const Layout& from, const Layout& to, const Change& change,
                        std::uint64_t seed) {
  ASSERT_EQ(to.registers(), from.registers());
  for_each_place(from, [&](int reg, int lane, int warp) {
    ASSERT_EQ(to.at(reg, lane, warp), change(from.at(reg, lane, warp))) << reproduction(seed);
  });
}

TEST(LayoutOfShapes, SliceAndExpandDimsTakeAndGiveAnAxis) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    for (int axis = 0; axis < layout.shape().rank(); ++axis)
      expect_same_places(
          layout, slice(layout, axis),
          [&](Coordinates at) {
            at.erase(at.begin() + axis);
            return at;
          },
          seed);
    for (int axis = 0; axis <= layout.shape().rank(); ++axis) {
      Layout expanded = expand_dims(layout, axis);
      ASSERT_EQ(expanded.shape()[axis], 1) << reproduction(seed);
      ASSERT_EQ(slice(expanded, axis), layout) << reproduction(seed);
    }
  }
}

TEST(LayoutOfShapes, PermuteMovesAxes) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    std::vector<int> dims(layout.shape().size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int>(i);
    std::mt19937_64 random(seed);
    std::shuffle(dims.begin(), dims.end(), random);
    expect_same_places(
        layout, permute(layout, dims),
        [&](const Coordinates& at) {
          Coordinates moved;
          for (int dim : dims) moved.push_back(at[static_cast<std::size_t>(dim)]);
          return moved;
        },
        seed);
  }
}

TEST(LayoutOfShapes, ABroadcastReadsElementZeroOfAStretchedAxis) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    for (int axis = 0; axis < layout.shape().rank(); ++axis) {
      Shape from = layout.shape();
      from[axis] = 1;
      expect_same_places(
          layout, broadcast_source(layout, from),
          [&](Coordinates at) {
            at[static_cast<std::size_t>(axis)] = 0;
            return at;
          },
          seed);
    }
  }
}

TEST(LayoutOfShapes, ReshapeKeepsTheNumbersOfElements) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    std::int64_t count = element_count(layout.shape());
    for (const Shape& to : {Shape{count}, Shape{1, count}, Shape{count, 1, 1}}) {
      auto reshaped = reshape(layout, to);
      ASSERT_TRUE(reshaped);
      ASSERT_EQ(reshaped->shape(), to);
      ASSERT_EQ(reshaped->matrix(), layout.matrix()) << reproduction(seed);
      ASSERT_EQ(reshape(*reshaped, layout.shape()), layout) << reproduction(seed);
    }
  }
  EXPECT_EQ(reshape(blocked({8}, 1, 1), {4}), std::nullopt);
  EXPECT_THAT(reshape(blocked({32}, 1, 1), {4, 8})->at(0, 13, 0), ElementsAre(1, 5));
}

TEST(LayoutOfShapes, DistinctRegistersHoldAllThatRegistersHold) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Layout layout = layout_of_seed(seed);
    Layout distinct = drop_duplicate_registers(layout);
    EXPECT_EQ(distinct.redundant_bits(In::register_), 0U);
    std::vector<int> registers = distinct_registers(layout), first = first_duplicates(layout);
    ASSERT_EQ(static_cast<int>(registers.size()), distinct.registers());
    for_each_place(distinct, [&](int reg, int lane, int warp) {
      ASSERT_EQ(distinct.at(reg, lane, warp),
                layout.at(registers[static_cast<std::size_t>(reg)], lane, warp))
          << reproduction(seed);
    });
    std::set<int> kept(registers.begin(), registers.end());
    for_each_place(layout, [&](int reg, int lane, int warp) {
      int twin = first[static_cast<std::size_t>(reg)];
      ASSERT_TRUE(kept.contains(twin)) << reproduction(seed);
      ASSERT_EQ(layout.at(twin, lane, warp), layout.at(reg, lane, warp)) << reproduction(seed);
    });
  }
}

TEST(LayoutOfShapes, RefuseAxesThatAreNotThere) {
  Layout layout = blocked({4, 8}, 1, 1);
  EXPECT_THROW(slice(layout, 2), InternalError);
  EXPECT_THROW(expand_dims(layout, 3), InternalError);
  for (const std::vector<int>& dims : {std::vector{0, 0}, {-1, 0}, {0, -1}, {2, 0}})
    EXPECT_THROW(permute(layout, dims), InternalError);
  EXPECT_THROW(broadcast_source(layout, {2, 8}), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::layout_test
