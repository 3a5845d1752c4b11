// Fragments are compared with the formulas of the PTX ISA as its text has them, in group and thread
// numbers, not as bases.
#include "dsl/layout/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/base/error.h"

namespace tilewright::dsl::layout::families_test {
namespace {

using Coordinates = std::vector<std::int32_t>;
using testing::ElementsAre;

TEST(Blocked, ReadsWholeRowsBeforeTheNext) {
  // 4 x 64 with 4 elements a thread: 16 lanes fill a row, two rows a warp, two warps.
  Layout layout = blocked({4, 64}, 4, 2);
  EXPECT_EQ(to_string(layout),
            "4x64\n"
            "register: (0,1) (0,2)\n"
            "lane:     (0,4) (0,8) (0,16) (0,32) (1,0)\n"
            "warp:     (2,0)\n");
}

TEST(Blocked, NeighbouringLanesHoldNeighbouringVectors) {
  for (int contiguous : {1, 2, 4, 8})
    for (int warps : {1, 4, 8})
      for (const Shape& shape : {Shape{4096}, Shape{64, 64}, Shape{4, 8, 256}, Shape{128, 32}}) {
        Layout layout = blocked(shape, contiguous, warps);
        for (int thread = 0; thread < 32 * warps; ++thread)
          for (int reg = 0; reg < contiguous; ++reg)
            ASSERT_EQ(flat_index(shape, layout.at(reg, thread % 32, thread / 32)),
                      static_cast<std::uint64_t>(thread * contiguous + reg));
      }
}

TEST(Blocked, RepeatsInRegistersWhatThreadsLeave) {
  Layout layout = blocked({64, 64}, 2, 1);
  EXPECT_EQ(layout.registers(), 128);
  EXPECT_THAT(layout.at(2, 0, 0), ElementsAre(1, 0));
  EXPECT_THAT(layout.at(127, 31, 0), ElementsAre(63, 63));
}

TEST(Blocked, ReplicatesWhatThreadsAreTooMany) {
  Layout layout = blocked({4, 2}, 8, 2);
  EXPECT_EQ(layout.registers(), 2);
  EXPECT_EQ(layout.redundant_bits(In::lane), 0b11100U);
  EXPECT_EQ(layout.redundant_bits(In::warp), 1U);
  EXPECT_THAT(layout.at(1, 3 + 4, 1), ElementsAre(3, 1));
}

TEST(Blocked, FollowsAnOrderOfAxes) {
  Layout layout = blocked({16, 64}, 4, 2, 32, {0, 1});
  EXPECT_THAT(layout.at(3, 0, 0), ElementsAre(3, 0));
  EXPECT_THAT(layout.at(0, 3, 0), ElementsAre(12, 0));
  EXPECT_THAT(layout.at(0, 4, 0), ElementsAre(0, 1));
  EXPECT_THAT(layout.at(0, 0, 1), ElementsAre(0, 8));
  EXPECT_THAT(layout.at(4, 0, 0), ElementsAre(0, 16));
}

TEST(Blocked, ServesAVectorOfAnyNumberOfLanes) {
  Layout layout = blocked({8, 64}, 1, 1, 16);
  EXPECT_EQ(layout.lanes(), 16);
  EXPECT_THAT(layout.at(5, 3, 0), ElementsAre(1, 19));
}

// groupID and threadID_in_group, as the ISA names them.
int group_id(int lane) { return lane >> 2; }
int thread_in_group(int lane) { return lane % 4; }

TEST(MmaFragment, TheResultIsThatOfTheIsa) {
  // "row = groupID for ci where i < 2, groupID + 8 for i >= 2;
  //  col = (threadID_in_group * 2) + (i & 0x1)"
  Layout layout = mma_result({16, 8}, 1, 1);
  ASSERT_EQ(layout.registers(), 4);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      EXPECT_THAT(layout.at(i, lane, 0), ElementsAre(group_id(lane) + (i < 2 ? 0 : 8),
                                                     thread_in_group(lane) * 2 + (i & 1)));
}

TEST(MmaFragment, OperandAOfSixteenBitsIsThatOfTheIsa) {
  // "row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise;
  //  col = (threadID_in_group * 2) + (i & 0x1) for i < 4, + 8 for i >= 4"
  Layout layout = mma_operand_a({16, 16}, 1, 1, 16);
  ASSERT_EQ(layout.registers(), 8);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) {
      int row = i < 2 || (i >= 4 && i < 6) ? group_id(lane) : group_id(lane) + 8;
      int column = thread_in_group(lane) * 2 + (i & 1) + (i < 4 ? 0 : 8);
      EXPECT_THAT(layout.at(i, lane, 0), ElementsAre(row, column)) << i;
    }
}

TEST(MmaFragment, OperandBOfSixteenBitsIsThatOfTheIsa) {
  // "row = (threadID_in_group * 2) + (i & 0x1) for bi where i < 2, + 8 for i >= 2;
  //  col = groupID"
  Layout layout = mma_operand_b({16, 8}, 1, 1, 16);
  ASSERT_EQ(layout.registers(), 4);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      EXPECT_THAT(
          layout.at(i, lane, 0),
          ElementsAre(thread_in_group(lane) * 2 + (i & 1) + (i < 2 ? 0 : 8), group_id(lane)));
}

TEST(MmaFragment, OperandsOfTf32AreThoseOfTheIsa) {
  // m16n8k8: "row = groupID for a0 and a2, groupID + 8 for a1 and a3;
  //  col = threadID_in_group for a0 and a1, threadID_in_group + 4 for a2 and a3";
  // "row = threadID_in_group for b0, threadID_in_group + 4 for b1; col = groupID"
  Layout a = mma_operand_a({16, 8}, 1, 1, 32), b = mma_operand_b({8, 8}, 1, 1, 32);
  ASSERT_EQ(a.registers(), 4);
  ASSERT_EQ(b.registers(), 2);
  for (int lane = 0; lane < 32; ++lane) {
    int group = group_id(lane), thread = thread_in_group(lane);
    EXPECT_THAT(a.at(0, lane, 0), ElementsAre(group, thread));
    EXPECT_THAT(a.at(1, lane, 0), ElementsAre(group + 8, thread));
    EXPECT_THAT(a.at(2, lane, 0), ElementsAre(group, thread + 4));
    EXPECT_THAT(a.at(3, lane, 0), ElementsAre(group + 8, thread + 4));
    EXPECT_THAT(b.at(0, lane, 0), ElementsAre(thread, group));
    EXPECT_THAT(b.at(1, lane, 0), ElementsAre(thread + 4, group));
  }
}

TEST(MmaFragment, OperandsOfEightBitsAreThoseOfTheIsa) {
  // m16n8k32: "row = groupID for ai where 0 <= i < 4 || 8 <= i < 12, groupID + 8 otherwise;
  //  col = (threadID_in_group * 4) + (i & 0x3) for i < 8, + 16 for i >= 8";
  // "row = (threadID_in_group * 4) + (i & 0x3) for bi where i < 4, + 16 for i >= 4; col = groupID"
  Layout a = mma_operand_a({16, 32}, 1, 1, 8), b = mma_operand_b({32, 8}, 1, 1, 8);
  ASSERT_EQ(a.registers(), 16);
  ASSERT_EQ(b.registers(), 8);
  for (int lane = 0; lane < 32; ++lane) {
    int group = group_id(lane), first = thread_in_group(lane) * 4;
    for (int i = 0; i < 16; ++i) {
      int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
      EXPECT_THAT(a.at(i, lane, 0), ElementsAre(row, first + (i & 3) + (i < 8 ? 0 : 16))) << i;
    }
    for (int i = 0; i < 8; ++i)
      EXPECT_THAT(b.at(i, lane, 0), ElementsAre(first + (i & 3) + (i < 4 ? 0 : 16), group)) << i;
  }
}

TEST(MmaFragment, RepeatsAlongColumnsThenRowsAndSharesTheTileAmongWarps) {
  Layout layout = mma_result({64, 32}, 2, 2);  // each warp 32 x 16: 2 x 2 instructions
  ASSERT_EQ(layout.registers(), 16);
  EXPECT_THAT(layout.at(4, 0, 0), ElementsAre(0, 8));
  EXPECT_THAT(layout.at(8, 0, 0), ElementsAre(16, 0));
  EXPECT_THAT(layout.at(0, 0, 1), ElementsAre(0, 16));
  EXPECT_THAT(layout.at(0, 0, 2), ElementsAre(32, 0));
  Layout a = mma_operand_a({64, 32}, 2, 2, 16);  // each row of warps 32 x 32
  EXPECT_THAT(a.at(8, 0, 0), ElementsAre(0, 16));
  EXPECT_THAT(a.at(16, 0, 0), ElementsAre(16, 0));
  EXPECT_THAT(a.at(0, 0, 1), ElementsAre(0, 0));
  EXPECT_THAT(a.at(0, 0, 2), ElementsAre(32, 0));
  Layout b = mma_operand_b({32, 32}, 2, 2, 16);  // each column of warps 32 x 16
  EXPECT_THAT(b.at(4, 0, 0), ElementsAre(0, 8));
  EXPECT_THAT(b.at(8, 0, 0), ElementsAre(16, 0));
  EXPECT_THAT(b.at(0, 0, 1), ElementsAre(0, 16));
  EXPECT_THAT(b.at(0, 0, 2), ElementsAre(0, 0));
}

// A product needs of each warp what it computes and nothing else: its rows of A, its columns of B.
TEST(MmaFragment, EveryWarpHasTheOperandsOfItsPartOfTheResult) {
  for (int bits : {8, 16, 32})
    for (auto [m, n, k, warps_m, warps_n] : {std::array{64, 64, 64, 2, 2},
                                             {128, 32, 32, 4, 1},
                                             {32, 256, 64, 1, 8},
                                             {16, 8, 32, 2, 2}}) {
      Layout result = mma_result({m, n}, warps_m, warps_n);
      Layout a = mma_operand_a({m, k}, warps_m, warps_n, bits);
      Layout b = mma_operand_b({k, n}, warps_m, warps_n, bits);
      auto held = [](const Layout& layout, int warp, std::size_t axis) {
        std::set<std::int32_t> along;
        for (int lane = 0; lane < 32; ++lane)
          for (int reg = 0; reg < layout.registers(); ++reg)
            along.insert(layout.at(reg, lane, warp)[axis]);
        return along;
      };
      ASSERT_EQ(result.warps(), warps_m * warps_n);
      for (int warp = 0; warp < result.warps(); ++warp) {
        EXPECT_EQ(held(result, warp, 0), held(a, warp, 0));
        EXPECT_EQ(held(result, warp, 1), held(b, warp, 1));
        EXPECT_EQ(static_cast<int>(held(a, warp, 1).size()), k);
        EXPECT_EQ(static_cast<int>(held(b, warp, 0).size()), k);
      }
    }
}

TEST(WgmmaFragment, TheResultIsThatOfTheIsa) {
  // m64nN, thread t of the warpgroup, register i:
  // "row = (t / 32) * 16 + (t % 32) / 4 + 8 * ((i / 2) % 2); col = (i / 4) * 8 + (t % 4) * 2 + i %
  // 2"
  for (int n : {8, 64, 256}) {
    Layout layout = wgmma_result(64, n, 1);
    ASSERT_EQ(layout.registers(), n / 2);
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < n / 2; ++i)
        ASSERT_EQ(layout.at(i, t % 32, t / 32),
                  (Coordinates{(t / 32) * 16 + (t % 32) / 4 + 8 * ((i / 2) % 2),
                               (i / 4) * 8 + (t % 4) * 2 + i % 2}));
  }
}

TEST(WgmmaFragment, WarpgroupsOwnContiguousRows) {
  Layout layout = wgmma_result(256, 16, 2);
  ASSERT_EQ(layout.registers(), 16);
  EXPECT_THAT(layout.at(8, 0, 0), ElementsAre(64, 0));
  EXPECT_THAT(layout.at(0, 0, 4), ElementsAre(128, 0));
  Layout a = wgmma_operand_a(128, 64, 2, 16);
  for (int i = 0; i < 8; ++i)
    for (int lane = 0; lane < 32; ++lane)
      for (int warp = 0; warp < 8; ++warp) {
        Coordinates at = mma_operand_a({16, 16}, 1, 1, 16).at(i, lane, 0);
        EXPECT_THAT(a.at(i, lane, warp), ElementsAre(warp * 16 + at[0], at[1]));
      }
}

TEST(Families, RefuseWhatIsNoPowerOfTwoOrTooSmall) {
  EXPECT_THROW(blocked({8}, 3, 1), InternalError);
  EXPECT_THROW(blocked({8}, 1, 6), InternalError);
  EXPECT_THROW(blocked({8, 8}, 1, 1, 32, {0}), InternalError);
  EXPECT_THROW(mma_result({8, 8}, 1, 1), InternalError);
  EXPECT_THROW(mma_operand_a({16, 16}, 1, 1, 8), InternalError);
  EXPECT_THROW(mma_operand_b({16, 8}, 1, 1, 64), InternalError);
  EXPECT_THROW(wgmma_result(64, 64, 2), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::families_test
