#include "runtime/base/out_of_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::out_of_memory_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Activity, GivesTheResultOfWorkThatHasMemory) {
  EXPECT_EQ(while_doing({"compile", "compiling kernel", "f"}, [] { return 3; }), 3);
}

TEST(Activity, MemoryThatRanOutIsAnErrorThatNamesTheInnermostWork) {
  try {
    while_doing({"compile", "planning"}, [] {
      while_doing({"compile", "compiling kernel", "softmax"}, [] { throw std::bad_alloc(); });
    });
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(),
                StartsWith("[compile] out of memory while compiling kernel softmax; free some"));
  }
}

TEST(Activity, ThreadsThatTheSystemRefusesAreAnErrorThatNamesTheWork) {
  try {
    while_doing({"compile", "starting a thread"}, [] {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("[compile] starting a thread: the system refused: "));
  }
}

TEST(Activity, OtherErrorsPassAsTheyAre) {
  EXPECT_THROW(while_doing({"a", "b"}, [] { throw Error("mine"); }), Error);
}

}  // namespace
}  // namespace tilewright::out_of_memory_test
