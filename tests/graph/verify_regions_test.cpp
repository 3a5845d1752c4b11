// The verifier of regions, on task lists and regions that are right but for one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/graph/complaints.h"

namespace tilewright::graph::verify_regions_test {
namespace {

using namespace testing_tasks;

using testing::HasSubstr;

std::string complaint_of_region(const FusedTasks& tasks,
                                const std::function<void(Region&)>& change) {
  return complaint(tasks, [&](FusedTasks& t) { change(t.regions[0].region); });
}

TEST(VerifyRegions, FindsTablesThatDoNotAgree) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[0].place.rows = IndexMap({{4, 1}});
                                    r.tables[0].place.columns = IndexMap({{8, 4}});
                                  }),
              HasSubstr("whose table has element"));
  EXPECT_THAT(
      complaint_of_region(shares(), [](Region& r) { r.tables[1].place.offset = 1; }),
      HasSubstr("reads element 0 of operand 1 at row 0, column 0, whose table has element 1"));
}

TEST(VerifyRegions, FindsWeightsThatAreNoneAndTheOtherWay) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[0].inner = IndexMap({{8, 1}});
                                  }),
              HasSubstr("wants operand 0 not as weights, and it is otherwise"));
}

TEST(VerifyRegions, FindsStoredValuesThatAreNotCovered) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.rows = 2;
                                    r.digits = RowDigits(2);
                                  }),
              HasSubstr("has a table of 2 rows of 8 for 32 elements"));
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[2].place.rows = IndexMap({{4, 4}});
                                  }),
              HasSubstr("that are not each of them once"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.width = 9; }),
              HasSubstr("is 9 wide, its stores 8"));
}

TEST(VerifyRegions, FindsWrongFactsAboutWhatIsStoredAndRead) {
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.stored[0] = true; }),
              HasSubstr("says that the value is wanted in memory"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.stored[2] = false; }),
              HasSubstr("says that the value is not wanted in memory"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.is_in_place = true; }),
              HasSubstr("is not in place as it says"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.weight_bytes = 4; }),
              HasSubstr("names 4 bytes of weights, which are 0"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.digits = RowDigits(5); }),
              HasSubstr("has digits of 5 rows"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.tables.clear(); }),
              HasSubstr("has several tasks and no tables"));
}

TEST(VerifyRegions, FindsDigitsThatAnAccessDoesNotHave) {
  // Rows of a transposed tensor are two digits in memory.
  FusedTasks tasks = tasks_of(R"(graph {
  %0: f32[5x3x8] = input
  %1: f32[3x5x8] = permute %0 {axes=1x0x2}
  %2: f32[3x5x8] = exp %1
  %3: f32[3x5x1] = sum %2 {axes=2}
  inputs %0
  return %3
})");
  EXPECT_THAT(complaint_of_region(tasks, [](Region& r) { r.digits = RowDigits(15); }),
              HasSubstr("at one stride a digit of the rows"));
}

TEST(VerifyRegions, FindsTasksInNoRegionOrTwoAndRegionsOutOfOrder) {
  FusedTasks tasks = rows();
  ASSERT_GE(tasks.regions.size(), 2u);
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { t.regions.pop_back(); }),
              HasSubstr("is in no region"));
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { t.regions.push_back(t.regions[0]); }),
              HasSubstr("is in two regions"));
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { std::ranges::reverse(t.regions); }),
              HasSubstr("which it waits for"));
}

}  // namespace
}  // namespace tilewright::graph::verify_regions_test
