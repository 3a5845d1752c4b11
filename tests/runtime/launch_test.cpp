#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::launch_test {
namespace {

class Launch : public testing::Test {
 protected:
  ~Launch() override { set_parallel_for({}, 0); }
};

// Adds the linear index of each program to an array.
void count_programs(const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
                    std::int64_t end, void*) {
  auto* visits = static_cast<std::int64_t*>(const_cast<void*>(arguments[0].pointer));
  for (std::int64_t i = begin; i < end; ++i) visits[i] += grid[0] + arguments[1].integer;
}

// Fills its scratch with a mark of its own, works, and reports if another changed it.
void use_scratch(const Argument* arguments, const std::int64_t*, std::int64_t begin,
                 std::int64_t end, void* scratch) {
  auto* broken = static_cast<std::atomic<int>*>(const_cast<void*>(arguments[0].pointer));
  std::int64_t size = arguments[1].integer;
  if (reinterpret_cast<std::uintptr_t>(scratch) % 64 != 0) ++*broken;
  auto* bytes = static_cast<unsigned char*>(scratch);
  for (std::int64_t program = begin; program < end; ++program) {
    auto mark = static_cast<unsigned char>(program);
    std::memset(bytes, mark, static_cast<std::size_t>(size));
    for (int i = 0; i < 50; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    for (std::int64_t i = 0; i < size; ++i)
      if (bytes[i] != mark) ++*broken;
  }
}

Artifact artifact_of(HostFunction function, std::int64_t scratch_bytes = 0) {
  Artifact artifact;
  artifact.name = "test";
  artifact.host = function;
  artifact.scratch_bytes = scratch_bytes;
  return artifact;
}

TEST_F(Launch, EveryProgramOfAGridOfThreeAxesRunsOnce) {
  set_thread_count(3);
  std::vector<std::int64_t> visits(5 * 7 * 11);
  Argument arguments[2];
  arguments[0].pointer = visits.data();
  arguments[1].integer = 100;
  launch(artifact_of(count_programs), {5, 7, 11}, arguments);
  EXPECT_THAT(visits, testing::Each(105));
}

TEST_F(Launch, AGridWithoutProgramsRunsNothing) {
  std::vector<std::int64_t> visits(1);
  Argument arguments[2];
  arguments[0].pointer = visits.data();
  arguments[1].integer = 1;
  launch(artifact_of(count_programs), {4, 0, 3}, arguments);
  EXPECT_EQ(visits[0], 0);
}

TEST_F(Launch, EachWorkerHasAlignedScratchOfItsOwnEvenAcrossLaunchingThreads) {
  set_thread_count(4);
  std::atomic<int> broken{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      for (std::int64_t size : {1, 100, 64, 5000, 3'000'000}) {
        Argument arguments[2];
        arguments[0].pointer = &broken;
        arguments[1].integer = size;
        for (std::int64_t programs : {1, 2, 9})
          launch(artifact_of(use_scratch, size), programs, arguments);
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(broken.load(), 0);
}

TEST_F(Launch, TheSameScratchIsUsedAgain) {
  static std::vector<void*> blocks;
  blocks.clear();
  Artifact artifact = artifact_of([](const Argument*, const std::int64_t*, std::int64_t,
                                     std::int64_t, void* scratch) { blocks.push_back(scratch); },
                                  4096);
  for (int i = 0; i < 3; ++i) launch(artifact, Grid{}, nullptr);
  EXPECT_THAT(blocks, testing::Each(blocks[0]));
}

TEST_F(Launch, ALaunchInsideALaunchHasScratchOfItsOwn) {
  set_thread_count(2);
  static Artifact inner = artifact_of(use_scratch, 500);
  Artifact outer = artifact_of(
      [](const Argument* arguments, const std::int64_t*, std::int64_t begin, std::int64_t end,
         void* scratch) {
        std::memset(scratch, 77, 1000);
        for (std::int64_t i = begin; i < end; ++i) launch(inner, 3, arguments);
        auto* broken = static_cast<std::atomic<int>*>(const_cast<void*>(arguments[0].pointer));
        for (int i = 0; i < 1000; ++i)
          if (static_cast<unsigned char*>(scratch)[i] != 77) ++*broken;
      },
      1000);
  std::atomic<int> broken{0};
  Argument arguments[2];
  arguments[0].pointer = &broken;
  arguments[1].integer = 500;
  for (std::int64_t programs : {1, 6}) launch(outer, programs, arguments);
  EXPECT_EQ(broken.load(), 0);
}

TEST_F(Launch, AFaultOfAnEmulatedProgramReachesTheCaller) {
  Artifact artifact;
  artifact.name = "faulty";
  artifact.emulated = [](const Argument*, const std::int64_t*, std::int64_t begin,
                         std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) require(i != 37, "[emulator] program ", i);
  };
  set_thread_count(2);
  EXPECT_NO_THROW(launch(artifact, Grid(37), nullptr));
  try {
    launch(artifact, Grid(100), nullptr);
    FAIL() << "no fault";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[emulator] program 37");
  }
}

TEST_F(Launch, ScratchBeyondTheMemoryOfTheMachineIsAnErrorThatNamesTheKernel) {
  set_thread_count(2);
  Artifact artifact = artifact_of(use_scratch, std::int64_t{1} << 50);
  try {
    launch(artifact, 2, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("[launch] the system has no memory for "
                                                  "2251799813685248 bytes of scratch for kernel "
                                                  "test; "));
  }
}

}  // namespace
}  // namespace tilewright::launch_test
