#include "runtime/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/grouped_locale.h"

namespace tilewright {
namespace {

TEST(Error, RequireJoinsItsPartsIntoTheMessageOfAnError) {
  try {
    require(1 + 1 == 3, "[sum] 1 + 1 is ", 2, "; ", 2.5, " would be wrong too");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[sum] 1 + 1 is 2; 2.5 would be wrong too");
  }
}

TEST(Error, NoLocaleOfTheProgramChangesNumbers) {
  GroupedLocale german;
  EXPECT_EQ(concat(1234567, " ", 0.5, " ", 65536.25F), "1234567 0.5 65536.2");
}

TEST(Error, CheckRaisesTheOtherKindAndNamesTheLine) {
  int line = 0;
  try {
    line = __LINE__ + 1;
    check(false, "the list is empty");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith(concat("internal error at error_test.cpp:", line, " in ")));
    EXPECT_THAT(error.what(),
                testing::EndsWith(": the list is empty; this is a bug in Tilewright"));
  }
}

TEST(Error, NothingIsRaisedWhereTheConditionHolds) {
  EXPECT_NO_THROW(require(true, "never"));
  EXPECT_NO_THROW(check(true, "never"));
}

TEST(Error, APlaceIsDescribedWithoutItsFolder) {
  std::source_location here = std::source_location::current();
  EXPECT_EQ(describe(here), concat("error_test.cpp:", here.line()));
}

}  // namespace
}  // namespace tilewright
