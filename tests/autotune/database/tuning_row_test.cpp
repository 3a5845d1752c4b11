#include "autotune/database/row/tuning_row.h"

#include <gtest/gtest.h>

#include <limits>

#include "autotune/database/row/statistics.h"
#include "tests/autotune/database/rows.h"
#include "tests/property/seeds.h"

namespace tilewright::autotune::tuning_row_test {
namespace {

TuningRow row_of(std::vector<Observation> observations) {
  TuningRow row(test_key(), test_configuration(64), observations[0]);
  row.observations = {};
  for (const Observation& o : observations) row.observations = join(row.observations, {o});
  return row;
}

TEST(TuningRow, MedianAndSpreadAreOfAllSamples) {
  TuningRow row = row_of({ok_observation({1, 2, 3}), ok_observation({5, 4}, new_year_ms + 1)});
  EXPECT_EQ(row.median_ns(), 3);
  EXPECT_EQ(row.spread_ns(), 2);
  EXPECT_EQ(row.date_ms(), new_year_ms + 1);
}

TEST(TuningRow, TheNewestObservationSaysWhetherItMayBeChosen) {
  Observation ok = ok_observation({1}),
              later = failed_observation(Status::timed_out, new_year_ms + 1);
  EXPECT_EQ(row_of({ok, later}).status(), Status::timed_out);
  EXPECT_EQ(row_of({ok, later}).median_ns(), 0);
  EXPECT_TRUE(row_of({later, ok_observation({1}, new_year_ms + 2)}).is_ok());
}

TEST(TuningRow, WhatWasOnceWrongStaysSo) {
  std::vector<Observation> observations{failed_observation(Status::wrong_result)};
  for (int i = 1; i < 20; ++i) observations.push_back(ok_observation({1.0 * i}, new_year_ms + i));
  TuningRow row = row_of(observations);
  EXPECT_EQ(row.status(), Status::wrong_result);
  EXPECT_EQ(row.observations.size(), most_observations);
}

TEST(TuningRow, ManySamplesBecomeQuantiles) {
  std::vector<double> samples;
  for (int i = 1000; i >= 0; --i) samples.push_back(i + 1);
  Observation o = ok_observation(samples);
  EXPECT_EQ(o.samples_ns.size(), most_samples);
  EXPECT_EQ(o.samples_ns.front(), 1);
  EXPECT_EQ(o.samples_ns.back(), 1001);
  EXPECT_NEAR(median(o.samples_ns), 501, 1);
  EXPECT_FALSE(problem_of(o));
}

TEST(TuningRow, ObservationsThatCannotBeAreNamed) {
  auto problem = [](auto change) {
    Observation o = ok_observation({1, 2});
    change(o);
    return problem_of(o).value_or("none");
  };
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(problem([](Observation&) {}), "none");
  EXPECT_EQ(problem([](Observation& o) { o.samples_ns = {-1}; }), "a sample is -1 ns");
  EXPECT_EQ(problem([](Observation& o) { o.samples_ns = {0}; }), "a sample is 0 ns");
  EXPECT_EQ(problem([](Observation& o) { o.samples_ns = {1e300}; }), "a sample is 1e+300 ns");
  EXPECT_EQ(problem([&](Observation& o) { o.samples_ns = {nan}; }), "a sample is nan ns");
  EXPECT_EQ(problem([](Observation& o) { o.samples_ns = {}; }), "it is ok and has no sample");
  EXPECT_EQ(problem([](Observation& o) { o.samples_ns = {2, 1}; }), "its samples are not in order");
  EXPECT_EQ(problem([](Observation& o) { o.status = Status::crashed; }),
            "it failed and has samples");
  EXPECT_EQ(problem([](Observation& o) { o.date_ms = -1; }),
            "the date, -1 ms, is not between 1970 and 2099");
  EXPECT_EQ(problem([](Observation& o) { o.reason = std::string(500, 'x'); }),
            "a note has 500 bytes");
}

TEST(TuningRow, NamesOfStatusReadBack) {
  for (Status status : {Status::ok, Status::wrong_result, Status::crashed})
    EXPECT_EQ(parse_status(name_of(status)), status);
  EXPECT_FALSE(parse_status("fine"));
}

TEST(TuningRowProperty, JoinIsCommutativeAssociativeIdempotentAndBounded) {
  for (std::uint64_t seed : seeds_of_test(3000)) {
    std::uint64_t state = seed;
    std::vector<Observation> sets[3];
    for (auto& set : sets)
      for (std::uint64_t i = 0; i <= next_random(state) % 6; ++i)
        set = join(set, {random_observation(state)});
    const auto& [a, b, c] = sets;
    ASSERT_EQ(join(a, b), join(b, a)) << reproduction(seed);
    ASSERT_EQ(join(join(a, b), c), join(a, join(b, c))) << reproduction(seed);
    ASSERT_EQ(join(a, a), a) << reproduction(seed);
    ASSERT_EQ(join(join(a, b), b), join(a, b)) << reproduction(seed);
    ASSERT_TRUE(are_in_order(join(a, b)) && join(a, b).size() <= most_observations)
        << reproduction(seed);
  }
}

}  // namespace
}  // namespace tilewright::autotune::tuning_row_test
