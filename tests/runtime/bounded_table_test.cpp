#include "runtime/kept/bounded_table.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::bounded_table_test {
namespace {

Hash key(std::uint64_t number) { return Hasher().add(number).finish(); }

class BoundedTableTest : public ::testing::Test {
 protected:
  // Inserts a number, and gives what went for it.
  std::vector<std::uint64_t> insert(std::uint64_t number, std::int64_t bytes = 1) {
    std::vector<std::uint64_t> gone;
    for (const auto& value :
         table_.insert(key(number), std::make_shared<std::uint64_t>(number), bytes, bounds_))
      gone.push_back(*value);
    return gone;
  }
  std::shared_ptr<std::uint64_t> find(std::uint64_t number) const {
    return table_.find(key(number));
  }

  Bounds bounds_{3, 100};
  BoundedTable<std::uint64_t> table_;
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(BoundedTableTest, KeepsWhatWasUsedLast) {
  for (std::uint64_t number : {1, 2, 3}) EXPECT_EQ(insert(number), Numbers{});
  EXPECT_EQ(insert(4), Numbers{1});
  EXPECT_EQ(*find(2), 2U);
  EXPECT_EQ(insert(5), Numbers{3});
  EXPECT_EQ(find(3), nullptr);
  EXPECT_EQ(insert(6), Numbers{4});
  EXPECT_EQ(insert(7), Numbers{2});
  EXPECT_EQ(table_.size(), 3);
}

TEST_F(BoundedTableTest, GivesUpAsManyAsTheirBytesAsk) {
  for (std::uint64_t number : {1, 2, 3}) insert(number, 30);
  EXPECT_EQ(insert(4, 60), (Numbers{1, 2}));
  EXPECT_EQ(table_.bytes(), 90);
}

TEST_F(BoundedTableTest, KeepsANewValueHoweverLargeItIs) {
  insert(1, 30);
  EXPECT_EQ(insert(2, 1000), Numbers{1});
  EXPECT_NE(find(2), nullptr);
  EXPECT_EQ(insert(3, 30), Numbers{2});
  EXPECT_EQ(table_.bytes(), 30);
}

TEST_F(BoundedTableTest, FollowsBoundsThatShrink) {
  for (std::uint64_t number : {1, 2, 3}) insert(number);
  bounds_.count = 1;
  EXPECT_EQ(insert(4), (Numbers{1, 2, 3}));
}

TEST_F(BoundedTableTest, WhatItGivesUpLivesWithItsOtherOwners) {
  insert(1);
  auto owned = find(1);
  for (std::uint64_t number : {2, 3, 4}) insert(number);
  EXPECT_EQ(find(1), nullptr);
  EXPECT_EQ(*owned, 1U);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(BoundsOfTables, ComeFromTheEnvironment) {
  Setting plans("TILEWRIGHT_KEPT_PLANS", "7"), code("TILEWRIGHT_KEPT_CODE_MIB", "2");
  EXPECT_EQ(bounds_of_tables().count, 7);
  EXPECT_EQ(bounds_of_tables().bytes, 2 << 20);
}

TEST(BoundsOfTables, RefuseWhatKeepsNothing) {
  {
    Setting plans("TILEWRIGHT_KEPT_PLANS", "0");
    EXPECT_EQ(error_of(bounds_of_tables),
              "[TILEWRIGHT_KEPT_PLANS] the value is 0; it must be at least 1");
  }
  Setting code("TILEWRIGHT_KEPT_CODE_MIB", "-1");
  EXPECT_EQ(error_of(bounds_of_tables),
            "[TILEWRIGHT_KEPT_CODE_MIB] the value is -1; it must be 1 to 1073741824");
}

}  // namespace
}  // namespace tilewright::bounded_table_test
