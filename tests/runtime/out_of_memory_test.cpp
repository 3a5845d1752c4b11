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

TEST(HostList, HasAsManyElementsAsWereAskedFor) {
  EXPECT_EQ(host_list<int>("nonzero", 3, 7), (std::vector<int>{7, 7, 7}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process
TEST(HostList, ThatNoMemoryIsForNamesTheOperationAndTheBytes) {
  // More than the address space, and more than a vector counts.
  for (std::int64_t count : {std::int64_t{1} << 58, INT64_MAX}) {
    try {
      host_list<std::int64_t>("nonzero", count);
      FAIL();
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(std::string(error.what()),
                concat("[nonzero] the host has no memory for a list of ",
                       count == INT64_MAX ? "2^63 and more" : "2305843009213693952",
                       " bytes: free tensors or ask for fewer elements"));
    }
  }
}
#endif

}  // namespace
}  // namespace tilewright::out_of_memory_test
