// The seconds of a search hold what its candidates cost, not only what timing them does.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "autotune/tuning.h"

namespace tilewright::autotune {
namespace {

constexpr double check_seconds = 0.05;

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Candidates that are slow to compile and to check, and take `run_seconds` a run.
class SlowRunner : public Runner {
 public:
  explicit SlowRunner(double run_seconds) : run_seconds_(run_seconds) {}
  std::size_t prepare(std::span<const Point> batch, double until) override {
    std::size_t ready = 0;
    for (; ready < batch.size() && (ready == 0 || steady_seconds() < until); ++ready)
      wait(check_seconds);
    return ready;
  }
  Failure check(const Point&) override { return {}; }
  double seconds(const Point&) override {
    wait(run_seconds_);
    return run_seconds_;
  }
  Device device() const override { return Device::cpu(); }

 private:
  double run_seconds_;
};

Tuning tuned(Runner& runner, double seconds) {
  Space space;
  std::vector<std::int64_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  space.choose("n", values);
  return tune({&space, {0}}, runner, {.budget = {64, seconds}});
}

TEST(Budget, CompilingIsCountedWithinABatch) {
  SlowRunner runner(1e-4);
  double begin = steady_seconds();
  Tuning tuning = tuned(runner, 0.12);
  EXPECT_EQ(tuning.ended, Ended::seconds);
  EXPECT_GT(tuning.measured.size(), 1u);
  EXPECT_LT(tuning.measured.size(), 6u);  // a batch has eight
  EXPECT_LT(steady_seconds() - begin, 2);
}

TEST(Budget, WhatCannotBeTimedBesideTheDefaultIsNotCompiled) {
  SlowRunner runner(0.1);
  Tuning tuning = tuned(runner, 0.2);
  EXPECT_EQ(tuning.measured.size(), 1u);
  EXPECT_EQ(tuning.chosen, Point{0});
}

}  // namespace
}  // namespace tilewright::autotune
