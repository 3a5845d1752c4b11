// Spans as a profiler hears them, in a process that is started with one.
#include "runtime/nvtx.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/trace.h"
#include "tests/setting.h"

namespace tilewright::nvtx_test {
namespace {

[[noreturn]] void do_work() {
  {
    TraceSpan outer("compile", "a");
    TraceSpan inner("launch", "b");
  }
  TraceSpan last("copy", "c");
  std::exit(detail::profiled ? 3 : 4);
}

TEST(Nvtx, ProfilersHearOfSpans) {
#ifdef TILEWRIGHT_NVTX_LISTENER
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // the child starts from the beginning
  Setting profiler("NVTX_INJECTION64_PATH", TILEWRIGHT_NVTX_LISTENER);
  EXPECT_EXIT(do_work(), testing::ExitedWithCode(3), "^<compile: a><launch: b></></><copy: c>$");
#else
  GTEST_SKIP() << "there was no nvtx3/nvToolsExt.h at the build";
#endif
}

TEST(Nvtx, NothingIsSaidWhereNobodyListens) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Setting profiler("NVTX_INJECTION64_PATH", nullptr);
  EXPECT_EXIT(do_work(), testing::ExitedWithCode(4), "^$");
}

}  // namespace
}  // namespace tilewright::nvtx_test
