#include "runtime/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <new>

#include "tests/grouped_locale.h"

namespace tilewright::error_test {
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve addresses
// A text that is cut short would be a key, a header of a file or a program of something else.
TEST(Error, JoinedTextIsWholeOrThereIsNoMemory) {
  std::string long_text(std::size_t{1} << 28, 'x');
  pid_t child = fork();
  if (child == 0) {
    std::ifstream sizes("/proc/self/statm");
    rlim_t pages = 0;
    sizes >> pages;
    rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 26);
    rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    try {
      concat("header ", long_text);
      _exit(1);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
#endif

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
}  // namespace tilewright::error_test
