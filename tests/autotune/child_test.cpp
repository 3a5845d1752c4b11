#include "autotune/measure/child.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dsl/emulator/options.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::autotune::child_test {
namespace {

using ::testing::HasSubstr;

TEST(Child, GivesBackWhatTheWorkReturns) {
  std::string bytes(3 << 20, 'x');
  bytes[5] = '\0';
  ChildResult result = run_in_child([&] { return bytes; });
  EXPECT_EQ(result.end, ChildEnd::done);
  EXPECT_EQ(result.text, bytes);
}

TEST(Child, LeavesThisProcessAsItWas) {
  int value = 1;
  ChildResult result = run_in_child([&] { return value = 2, std::to_string(value); });
  EXPECT_EQ(result.text, "2");
  EXPECT_EQ(value, 1);
}

TEST(Child, RunsLoopsOnThreadsOfItsOwn) {
  std::vector<int> squares(1000);
  auto work = [&] {
    parallel_for(
        1000,
        [](void* context, std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t i = begin; i < end; ++i)
            (*static_cast<std::vector<int>*>(context))[static_cast<std::size_t>(i)] =
                static_cast<int>(i * i);
        },
        &squares);
    return std::to_string(squares[999]);
  };
  work();
  EXPECT_EQ(run_in_child(work).text, "998001");
}

TEST(Child, SaysHowItEnded) {
  auto ended = [](const std::function<std::string()>& work) {
    return run_in_child(work, {0.3, 64 << 20});
  };
  ChildResult raised = ended([]() -> std::string { throw std::runtime_error("no such tile"); });
  EXPECT_EQ(raised.end, ChildEnd::raised);
  EXPECT_EQ(raised.text, "no such tile");
  ChildResult exited = ended([]() -> std::string { _exit(7); });
  EXPECT_EQ(exited.end, ChildEnd::exited);
  EXPECT_THAT(exited.text, HasSubstr("status 7"));
  EXPECT_EQ(ended([]() -> std::string { _exit(0); }).end, ChildEnd::exited);
  ChildResult crashed = ended([]() -> std::string {
    raise(SIGKILL);
    return "";
  });
  EXPECT_EQ(crashed.end, ChildEnd::crashed);
  EXPECT_THAT(crashed.text, HasSubstr("signal 9"));
  EXPECT_EQ(ended([]() -> std::string { std::abort(); }).end, ChildEnd::crashed);
  ChildResult late = ended([]() -> std::string {
    for (volatile int i = 0;;) i = i + 1;
  });
  EXPECT_EQ(late.end, ChildEnd::timed_out);
  EXPECT_THAT(late.text, HasSubstr("0.3 seconds"));
}

#ifndef __SANITIZE_ADDRESS__
TEST(Child, HasNoMemoryWithoutEnd) {
  ChildResult result = run_in_child(
      []() -> std::string {
        std::vector<std::vector<char>> all;
        while (true) all.emplace_back(16 << 20, 'x');
      },
      {20, 256 << 20});
  EXPECT_EQ(result.end, ChildEnd::out_of_memory);
}

TEST(Child, TellsWhatItPrintedOnItsWayDownInsteadOfShowingIt) {
  ::testing::internal::CaptureStderr();
  ChildResult result = run_in_child([]() -> std::string {
    std::fputs("first line\nmalloc(): something is wrong\n", stderr);
    std::abort();
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(result.end, ChildEnd::crashed);
  EXPECT_THAT(result.text,
              HasSubstr("ended by signal 6 (Aborted): first line malloc(): something is "
                        "wrong"));
}

TEST(Child, CrashesWhereTheEmulatorFindsAFault) {
  ChildResult result =
      run_in_child([]() -> std::string { throw dsl::emulator::EmulationFault("out of bounds"); });
  EXPECT_EQ(result.end, ChildEnd::crashed);
  EXPECT_EQ(result.text, "out of bounds");
}

TEST(Child, EndsAtABadAddress) {
  ChildResult result = run_in_child([]() -> std::string {
    *reinterpret_cast<volatile int*>(8) = 1;
    return "";
  });
  EXPECT_EQ(result.end, ChildEnd::crashed);
}
#endif

TEST(Child, MayBeOneOfSeveral) {
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&right, i] {
      for (int j = 0; j < 5; ++j)
        right += run_in_child([&] { return std::to_string(10 * i + j); }).text ==
                 std::to_string(10 * i + j);
    });
  threads.clear();
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace tilewright::autotune::child_test
