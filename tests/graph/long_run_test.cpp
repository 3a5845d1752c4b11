// A long run takes no more memory and no more files than a short one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/tensor/tensor.h"
#include "tests/every_device.h"

namespace tilewright::long_run_test {
namespace {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// The fewest open in some looks: compiling threads of tests that came before may have a file open
// for a moment.
std::ptrdiff_t open_files() {
  std::ptrdiff_t fewest = std::numeric_limits<std::ptrdiff_t>::max();
  for (int look = 0; look < 10; ++look) {
    fewest = std::min(fewest,
                      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return fewest;
}

// Runs `some` so often that memory is as large as it gets, then many times more.
template <typename Run>
void expect_no_growth(int some, int many, Run&& run) {
  for (int i = 0; i < some; ++i) run();
  const std::int64_t memory = resident_bytes();
  const std::ptrdiff_t files = open_files();
  for (int i = 0; i < many; ++i) run();
#ifndef __SANITIZE_ADDRESS__  // which keeps for a while what was given back
  EXPECT_LE(resident_bytes(), memory + memory / 100) << "was " << memory;
#endif
  EXPECT_LE(open_files(), files);
}

TEST(LongRun, AMillionStepsTakeNoMemory) {
  TILEWRIGHT_ON_THE_HOST_ONLY("a million steps in a second");
  Tensor x = full({8, 16}, 1.5).clone(), state = full({8, 16}, 0).clone();
  Compiled step = compile(
      [state](const Tensor& t) mutable {
        state.copy_from(state * 0.5 + t);
        return softmax(state, -1);
      },
      {.mode = Mode::reduce_overhead});
  expect_no_growth(10'000, 1'000'000, [&] { step(x); });
  EXPECT_FLOAT_EQ(state.to_vector<float>()[0], 3);
}

TEST(LongRun, ResultsOfTheirOwnAreGivenBack) {
  TILEWRIGHT_ON_THE_HOST_ONLY("a hundred thousand results in a second");
  Tensor x = full({64, 256}, 1.5).clone();
  Compiled f = compile([](const Tensor& t) { return sum(t * 2, {0}) + t; });
  Tensor kept;
  expect_no_growth(1'000, 100'000, [&] { kept = f(x); });
  expect_no_growth(1'000, 20'000, [&] { kept = x * 2 + kept; });
}

}  // namespace
}  // namespace tilewright::long_run_test
