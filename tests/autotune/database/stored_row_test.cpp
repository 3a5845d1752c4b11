#include "autotune/database/row/stored_row.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/autotune/database/rows.h"
#include "tests/property/seeds.h"

namespace tilewright::autotune::stored_row_test {
namespace {

std::string problem_of_reading(const StoredRow& stored) {
  auto read = read_row(stored, test_key(), KeyNames(test_key()));
  return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "none";
}

TEST(StoredRow, ComesBackAsItWas) {
  for (std::uint64_t seed : seeds_of_test(300)) {
    std::uint64_t state = seed;
    TuningRow row(test_key(), test_configuration(64), random_observation(state));
    for (int i = 0; i < 3; ++i)
      row.observations = join(row.observations, {random_observation(state)});
    auto read = read_row(stored_row(row, KeyNames(row.key)), row.key, KeyNames(row.key));
    ASSERT_TRUE(std::holds_alternative<TuningRow>(read)) << std::get<std::string>(read);
    ASSERT_EQ(std::get<TuningRow>(read), row) << reproduction(seed);
    ASSERT_FALSE(problem_of(row));
  }
}

TEST(StoredRow, KeysComeBackAndProveThemselves) {
  TuningKey key = test_key();
  StoredKey stored = stored_key(key);
  TuningKey read = std::get<TuningKey>(read_key(stored));
  read.compiler = std::get<Record>(read_compiler(stored_build(key)));
  EXPECT_EQ(read, key);
  stored.problem = "columns=4096 dtype=f32 rows=1025";
  EXPECT_EQ(std::get<std::string>(read_key(stored)), "a key does not match its id");
  EXPECT_EQ(std::get<std::string>(read_compiler({7, "llvm=22"})),
            "a compiler does not match its id");
}

TEST(StoredRow, AnyChangeOfAColumnIsFound) {
  TuningRow row(test_key(), test_configuration(64), ok_observation({5}));
  StoredRow good = stored_row(row, KeyNames(row.key));
  EXPECT_EQ(problem_of_reading(good), "none");
  auto changed = [&](auto change) {
    StoredRow stored = good;
    change(stored);
    return problem_of_reading(stored);
  };
  EXPECT_EQ(changed([](StoredRow& t) { t.median_ns = 1; }), "a checksum is wrong");
  EXPECT_EQ(changed([](StoredRow& t) { t.configuration = "rows=1"; }), "a checksum is wrong");
  EXPECT_EQ(changed([](StoredRow& t) { t.status = "crashed"; }), "a checksum is wrong");
  EXPECT_EQ(changed([](StoredRow& t) { t.observations[3] ^= 1; }), "a checksum is wrong");
  auto other = read_row(good, test_key(2048), KeyNames(test_key(2048)));
  EXPECT_EQ(std::get<std::string>(other), "a checksum is wrong") << "under another key";
}

TEST(StoredRow, ARowThatWasForgedWithItsChecksumMustStillMakeSense) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  auto problem = [](Observation o) {
    TuningRow row(test_key(), test_configuration(64), ok_observation({5}));
    row.observations = {o};
    return problem_of_reading(stored_row(row, KeyNames(row.key)));
  };
  Observation o = ok_observation({5});
  o.samples_ns = {-5};
  EXPECT_EQ(problem(o), "a sample is -5 ns");
  o.samples_ns = {nan};
  EXPECT_EQ(problem(o), "a sample is nan ns");
  o = ok_observation({5});
  o.date_ms = 9'000'000'000'000;
  EXPECT_EQ(problem(o), "the date, 9000000000000 ms, is not between 1970 and 2099");
  o = ok_observation({5});
  o.samples_ns.assign(100, 5.0);
  EXPECT_EQ(problem(o).substr(0, 16), "the samples are ");
}

TEST(StoredRow, NamesOfKernelsAreMadeReadable) {
  TuningKey key = test_key();
  key.kernel = "a\nb\x80<script>";
  EXPECT_EQ(stored_key(key).kernel, "a?b?<script>");
}

TEST(StoredRow, WhatIsTooLongCannotBeStored) {
  TuningRow row(test_key(), Configuration().set("a", std::string(9000, 'x')), ok_observation({5}));
  EXPECT_TRUE(problem_of(row));
  row = TuningRow(test_key(), test_configuration(1), ok_observation({5}));
  row.observations[0].samples_ns[0] = -1;
  EXPECT_EQ(problem_of(row), "a sample is -1 ns");
}

}  // namespace
}  // namespace tilewright::autotune::stored_row_test
