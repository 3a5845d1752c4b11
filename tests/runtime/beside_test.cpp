#include "runtime/cpu/beside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::beside_test {
namespace {

TEST(RunBeside, AllPiecesAreDoneOnce) {
  std::atomic<int> next = 0, sum = 0;
  run_beside(1000, [&] {
    for (int i; (i = next++) < 1000;) sum += i;
  });
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(RunBeside, HasAsManyThreadsAsLaunchesAtLeastTwoAndNoMoreThanPieces) {
  auto threads_for = [](std::size_t pieces) {
    std::atomic<int> calls = 0;
    run_beside(pieces, [&] { ++calls; });
    return calls.load();
  };
  const int before = thread_count();
  for (int count : {1, 2, 5, 40}) {
    set_thread_count(count);
    EXPECT_EQ(threads_for(100), std::clamp(count, 2, 16));
    EXPECT_EQ(threads_for(1), 1);
    EXPECT_EQ(threads_for(0), 1);
  }
  set_thread_count(before);
}

TEST(RunBeside, WhatOneThreadRaisesIsRaisedWhenAllAreDone) {
  for (int bad : {0, 1, 7}) {
    std::atomic<int> next = 0;
    auto work = [&] {
      for (int i; (i = next++) < 8;) require(i != bad, "piece ", i, " is bad");
    };
    EXPECT_THROW(run_beside(8, work), Error) << bad;
  }
}

}  // namespace
}  // namespace tilewright::beside_test
