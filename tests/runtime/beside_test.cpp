#include "runtime/cpu/beside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "runtime/base/error.h"

namespace tilewright::beside_test {
namespace {

TEST(RunBeside, AllPiecesAreDoneOnce) {
  std::atomic<int> next = 0, sum = 0;
  run_beside([&] {
    for (int i; (i = next++) < 1000;) sum += i;
  });
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(RunBeside, WhatOneThreadRaisesIsRaisedWhenBothAreDone) {
  for (int bad : {0, 1, 7}) {
    std::atomic<int> next = 0;
    auto work = [&] {
      for (int i; (i = next++) < 8;) require(i != bad, "piece ", i, " is bad");
    };
    EXPECT_THROW(run_beside(work), Error) << bad;
  }
}

}  // namespace
}  // namespace tilewright::beside_test
