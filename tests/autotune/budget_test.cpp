// The seconds of a tuning hold all that it does: what its candidates cost to compile and to check,
// the timing, and the decision.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "autotune/tuning.h"

namespace tilewright::autotune::budget_test {
namespace {

constexpr double compile_seconds = 0.05;

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Candidates that are slow to compile and to check, and take `run_seconds` a run.
class SlowRunner : public Runner {
 public:
  explicit SlowRunner(double run_seconds) : run_seconds_(run_seconds) {}
  std::size_t prepare(std::span<const Point> batch, double until) override {
    std::size_t ready = 0;
    for (; ready < batch.size() && (ready == 0 || steady_seconds() < until); ++ready)
      wait(compile_seconds);
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

Space space_of_64() {
  Space space;
  std::vector<std::int64_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  space.choose("n", values);
  return space;
}

Tuning tuned(Runner& runner, double seconds) {
  const Space space = space_of_64();
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

// The cost of a tuning, on a clock that only its runner moves.
struct Costs {
  double compile = 0, check = 0;
  double run = 0, run_of_others = 0;
};

class CountingRunner : public Runner {
 public:
  explicit CountingRunner(Costs costs) : costs_(costs) {}
  double now = 0;
  int runs = 0, checks = 0;

  std::size_t prepare(std::span<const Point> batch, double until) override {
    std::size_t ready = 0;
    for (; ready < batch.size() && (ready == 0 || now < until); ++ready) now += costs_.compile;
    return ready;
  }
  double check_seconds() const override { return costs_.check; }
  Failure check(const Point& point) override {
    if (point == Point{0}) return {};
    now += costs_.check;
    ++checks;
    return {};
  }
  double seconds(const Point& point) override {
    double run = point == Point{0} ? costs_.run : costs_.run_of_others;
    now += run;
    ++runs;
    return run;
  }
  Device device() const override { return Device::cpu(); }

 private:
  Costs costs_;
};

Tuning counted(CountingRunner& runner, double seconds) {
  const Space space = space_of_64();
  TuningOptions options{.budget = {64, seconds}};
  options.clock = [&] { return runner.now; };
  return tune({&space, {0}}, runner, options);
}

TEST(Budget, ADefaultThatTakesLongerIsTimedOnceAndNothingElse) {
  CountingRunner runner({.compile = 1, .check = 1, .run = 20, .run_of_others = 1});
  Tuning tuning = counted(runner, 0.6);
  EXPECT_EQ(runner.runs, 1);
  EXPECT_EQ(runner.now, 20);
  ASSERT_EQ(tuning.measured.size(), 1u);
  EXPECT_EQ(tuning.measured[0].samples, std::vector<double>{20});
  EXPECT_EQ(tuning.preferred_seconds, 20);
  EXPECT_EQ(tuning.chosen, Point{0});
  EXPECT_EQ(tuning.chosen_seconds, 20);
  EXPECT_EQ(tuning.ended, Ended::seconds);
}

TEST(Budget, NothingIsCheckedWhereACheckTakesTooLong) {
  CountingRunner runner({.check = 30, .run = 0.01, .run_of_others = 0.01});
  counted(runner, 20);
  EXPECT_EQ(runner.checks, 0);
  EXPECT_LE(runner.now, 20);
}

// But for what was begun: a compilation, a check or a run.
TEST(Budget, IsKeptWhateverThingsCost) {
  for (double compile : {0.0, 0.01, 0.3})
    for (double check : {0.0, 0.02, 1.0})
      for (double run : {1e-4, 0.01, 0.5})
        for (double slower : {0.5, 1.0, 10.0})
          for (double seconds : {0.2, 3.0, 40.0}) {
            CountingRunner runner({compile, check, run, run * slower});
            Tuning tuning = counted(runner, seconds);
            EXPECT_LE(runner.now, seconds + compile + check + run * (1 + slower))
                << "compile " << compile << " check " << check << " run " << run << " slower "
                << slower << " seconds " << seconds;
            for (const Finding& one : tuning.measured) EXPECT_FALSE(one.samples.empty());
          }
}

TEST(Budget, LeavesTimeToDecideForWhatIsFaster) {
  CountingRunner runner({.compile = 0.05, .check = 0.01, .run = 0.01, .run_of_others = 0.005});
  Tuning tuning = counted(runner, 3);
  EXPECT_EQ(tuning.ended, Ended::seconds);
  EXPECT_LE(runner.now, 3.06);
  EXPECT_TRUE(tuning.verdict.was_confirmed);
  EXPECT_NE(tuning.chosen, Point{0});
}

}  // namespace
}  // namespace tilewright::autotune::budget_test
