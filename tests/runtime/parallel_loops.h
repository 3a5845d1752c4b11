// Loops of callables, and a check that they visit every index once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "runtime/cpu/parallel.h"

namespace tilewright::testing_parallel {

// Runs a callable of (begin, end, worker) as a loop.
template <typename F>
void run(std::int64_t count, F body) {
  parallel_for(
      count,
      [](void* context, std::int64_t begin, std::int64_t end, int worker) {
        (*static_cast<F*>(context))(begin, end, worker);
      },
      &body);
}

inline void work_for(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Each test has its own number of threads and leaves the default behind.
class Parallel : public ::testing::Test {
 protected:
  ~Parallel() override { set_parallel_for({}, 0); }
};

inline void expect_every_index_once(std::int64_t count) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  run(count, [&](std::int64_t begin, std::int64_t end, int worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, thread_count());
    for (std::int64_t i = begin; i < end; ++i) visits[static_cast<std::size_t>(i)].fetch_add(1);
  });
  for (std::int64_t i = 0; i < count; ++i)
    ASSERT_EQ(visits[static_cast<std::size_t>(i)].load(), 1) << i << " of " << count;
}

}  // namespace tilewright::testing_parallel
