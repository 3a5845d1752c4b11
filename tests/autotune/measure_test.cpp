#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autotune/database/row/statistics.h"
#include "autotune/measure/clocks.h"
#include "autotune/measure/decision.h"
#include "autotune/space/random.h"

namespace tilewright::autotune::measure_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Statistics, AreThoseOfTheBooks) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_EQ(quantile({1}, 0.9), 1);
  EXPECT_EQ(interquartile_range({1, 2, 3, 4, 5}), 2);
  EXPECT_EQ(median({1, infinity, infinity}), infinity);
  EXPECT_DOUBLE_EQ(geometric_mean({1, 4}), 2);
}

// The spread of medians of n normal samples is predicted from one series of them.
TEST(Statistics, ForeseeTheSpreadOfAMedian) {
  Random random(1);
  std::normal_distribution<double> normal(10, 1);
  std::vector<double> medians, foreseen;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> series(25);
    for (double& value : series) value = normal(random);
    medians.push_back(median(series));
    foreseen.push_back(spread_of_median(series));
  }
  EXPECT_NEAR(median(foreseen) / interquartile_range(medians), 1, 0.15);
}

TEST(Interleaved, RunsEachOnceARoundInOtherOrders) {
  Random random(1);
  std::vector<std::size_t> order;
  auto timings = time_interleaved(
      3, [&](std::size_t i) { return order.push_back(i), 1.0; }, {6}, random);
  ASSERT_EQ(order.size(), 18u);
  bool differs = false;
  for (std::size_t round = 0; round < 6; ++round) {
    std::vector<std::size_t> turn(order.begin() + static_cast<std::ptrdiff_t>(3 * round),
                                  order.begin() + static_cast<std::ptrdiff_t>(3 * round + 3));
    differs = differs || turn != std::vector<std::size_t>(order.begin(), order.begin() + 3);
    std::ranges::sort(turn);
    EXPECT_EQ(turn, (std::vector<std::size_t>{0, 1, 2}));
  }
  EXPECT_TRUE(differs);
  for (const Timing& timing : timings) EXPECT_EQ(timing.samples.size(), 6u);
}

TEST(Interleaved, DropsTheHopelessSoonAndTheFailedAtOnce) {
  Random random(1);
  std::vector<double> times = {3, 1, 1.5, infinity, 2.1};
  auto timings = time_interleaved(
      5, [&](std::size_t i) { return times[i]; }, {7}, random);
  EXPECT_EQ(timings[0].samples.size(), 7u);  // the default stays
  EXPECT_EQ(timings[1].samples.size(), 7u);
  EXPECT_EQ(timings[2].samples.size(), 3u);
  EXPECT_TRUE(timings[2].was_dropped);
  EXPECT_EQ(timings[3].samples.size(), 1u);
  EXPECT_TRUE(timings[3].failed());
  EXPECT_EQ(timings[4].samples.size(), 2u);  // one alone may have been disturbed
}

TEST(Interleaved, RunsNothingMoreOnceTheTimeIsOver) {
  Random random(1);
  double now = 0;
  std::vector<std::size_t> order;
  auto run = [&](std::size_t i) { return order.push_back(i), now += 1, 1.0; };
  Rounds rounds{7};
  rounds.clock = [&] { return now; };
  rounds.until = 6;
  auto timings = time_interleaved(4, run, rounds, random);
  EXPECT_EQ(order.size(), 6u);
  order.clear();
  now = 0;
  rounds.until = 3;  // in the first round
  timings = time_interleaved(4, run, rounds, random);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(timings[3].samples.empty());
  EXPECT_TRUE(timings[3].failed());
  order.clear();
  rounds.until = 0;  // one is of no use without another to be compared with
  time_interleaved(4, run, rounds, random);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1}));
  order.clear();
  time_interleaved(1, run, rounds, random);
  EXPECT_EQ(order, std::vector<std::size_t>{0});
}

TEST(Interleaved, ADisturbedDefaultMakesNobodyFast) {
  Timing preferred{{10, 200, 11, 5, 10}}, dropped{{40, 40}};
  EXPECT_EQ(beside(preferred, preferred, 20)[0], 20);
  EXPECT_EQ(beside(dropped, preferred, 20)[0], 80);  // as in the others of its rounds
  EXPECT_GT(beside(dropped, preferred, 20)[1], 50);  // and not a tenth of the default's time
  EXPECT_EQ(beside({{10, 22, 5}}, {{10, 20, 10}}, 1)[1], 22.0 / 15);
}

TEST(Clocks, OfTheHostAreMeasured) {
  ClockWatch host(Device::cpu());
  EXPECT_EQ(host.text(), "");
  std::optional<double> mhz = core_mhz();
  if (!mhz) GTEST_SKIP() << "not measured on this processor";
  EXPECT_GT(*mhz, 200);
  EXPECT_LT(*mhz, 10'000);
  host.look();
  EXPECT_EQ(host.text().find("core="), 0u);
}

TEST(Clocks, HaveFallenWhereTheyAreLowerThanBefore) {
  auto text = [](std::initializer_list<double> seen) {
    ClockWatch watch(Device::cpu());
    for (double mhz : seen) watch.saw(mhz);
    return watch.text();
  };
  EXPECT_EQ(text({3000}), "core=3000 throttled=no");
  EXPECT_EQ(text({3000, 2900, 3010}), "core=2900 throttled=no");
  EXPECT_EQ(text({2000, 3000}), "core=2000 throttled=no");  // it woke up
  EXPECT_EQ(text({3000, 2800, 3000}), "core=2800 throttled=yes");
}

TEST(Clocks, OfAGpuAreTheLowestSeenAndWhatHeldThemDown) {
  ClockWatch gpu(Device::cuda(0));
  EXPECT_EQ(gpu.text(), "");
  gpu.saw({1980, 2619, cuda::Throttle::none});
  EXPECT_EQ(gpu.text(), "memory=2619 sm=1980 throttled=no");
  gpu.saw({1755, 2619, cuda::Throttle::power});
  gpu.saw({1980, 2600, cuda::Throttle::none});
  EXPECT_EQ(gpu.text(), "memory=2600 sm=1755 throttled=power");
}

// Programs whose times are noisy: a slow drift of the machine and 5% of each sample.
struct NoisyMachine {
  std::vector<double> seconds;
  double noise = 0.05;
  Random random;
  double drift = 1;
  double operator()(std::size_t program) {
    std::normal_distribution<double> normal(0, 1);
    drift = std::clamp(drift * (1 + 0.01 * normal(random)), 0.7, 1.5);
    return seconds[program] * drift * (1 + noise * normal(random));
  }
};

TEST(Decision, IsNotMovedByOnePerCentUnderFivePerCentOfNoise) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    NoisyMachine machine{{1.0, seed % 2 == 0 ? 0.99 : 1.01, 1.0, 1.0}, 0.05, Random(seed)};
    Random random(seed + 1'000'000);
    moved += decide(
                 4, [&](std::size_t i) { return machine(i); }, {}, random)
                 .chosen != 0;
  }
  RecordProperty("moved_of_1000", moved);
  EXPECT_LE(moved, 10);
}

TEST(Decision, TakesWhatIsClearlyFasterInSpiteOfNoise) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    NoisyMachine machine{{1.0, 1.05, 0.8}, 0.05, Random(seed)};
    Random random(seed);
    Verdict verdict = decide(
        3, [&](std::size_t i) { return machine(i); }, {}, random);
    right += verdict.chosen == 2;
    if (verdict.chosen == 2) {
      EXPECT_TRUE(verdict.was_confirmed);
      // Both series are there to be stored.
      EXPECT_EQ(verdict.challenger, 2u);
      ASSERT_EQ(verdict.repeated.size(), 2u);
      EXPECT_EQ(verdict.repeated[1].samples.size(), 25u);
    }
  }
  EXPECT_GE(right, 198);
}

TEST(Decision, OfAQuietMachineTakesThreePerCentAndLeavesOne) {
  for (auto [seconds, chosen] : {std::pair(0.97, 1u), std::pair(0.985, 0u)}) {
    NoisyMachine machine{{1.0, seconds}, 0.001, Random(1)};
    Random random(1);
    EXPECT_EQ(decide(
                  2, [&](std::size_t i) { return machine(i); }, {}, random)
                  .chosen,
              chosen);
  }
}

TEST(Decision, KeepsTheDefaultWhereThereIsNoTimeForThreeRounds) {
  for (auto [seconds, chosen] : {std::pair(1000.0, 1u), {12.0, 1u}, {11.0, 0u}, {4.0, 0u}}) {
    Random random(1);
    double now = 0;
    DecisionRounds rounds;
    rounds.clock = [&] { return now; };
    rounds.until = seconds;
    auto run = [&](std::size_t i) { return now += 1, i == 0 ? 1.0 : 0.5; };
    Verdict verdict = decide(2, run, rounds, random);
    EXPECT_EQ(verdict.chosen, chosen) << seconds;
    EXPECT_LE(now, std::max(seconds, 2.0));
  }
}

TEST(InterleavedMedians, CallTheFunctionsInTurn) {
  std::string calls;
  std::vector<double> seconds = interleaved_medians({[&] { calls += 'a'; }, [&] { calls += 'b'; }},
                                                    /*rounds=*/3, /*shortest=*/0);
  EXPECT_EQ(calls, "aabbababab");
  EXPECT_EQ(seconds.size(), 2U);
  for (double one : seconds) EXPECT_LT(one, 1);
}

TEST(Decision, LeavesADefaultThatFails) {
  Random random(1);
  std::vector<double> times = {infinity, 2, 1, infinity};
  EXPECT_EQ(decide(
                4, [&](std::size_t i) { return times[i]; }, {}, random)
                .chosen,
            2u);
  times = {1, infinity, infinity, infinity};
  EXPECT_EQ(decide(
                4, [&](std::size_t i) { return times[i]; }, {}, random)
                .chosen,
            0u);
}

}  // namespace
}  // namespace tilewright::autotune::measure_test
