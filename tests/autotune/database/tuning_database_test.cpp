#include "autotune/database/tuning_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::autotune::tuning_database_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TuningDatabaseTest : public testing::Test {
 protected:
  std::string file() const { return folder_.path() / "tuning.db"; }
  static TuningRow row(std::int64_t rows, double ns) {
    return {test_key(), test_configuration(rows), ok_observation({ns, ns + 1, ns + 2})};
  }

 private:
  ScratchFolder folder_;
};

TEST_F(TuningDatabaseTest, FindsTheFastestInAnotherProcess) {
  ASSERT_TRUE(TuningDatabase(file()).store({row(64, 30), row(32, 10), row(16, 20)}));
  TuningDatabase again(file());
  Lookup found = again.lookup(test_key());
  ASSERT_TRUE(found.best);
  EXPECT_EQ(*found.best, row(32, 10));
  EXPECT_THAT(found.seeds, IsEmpty());
  EXPECT_FALSE(again.lookup(test_key(1)).best);
  EXPECT_TRUE(again.diagnostics().keeps);
  EXPECT_THAT(again.diagnostics().messages, IsEmpty());
  EXPECT_THAT(again.diagnostics().place, HasSubstr("journal wal"));
}

TEST_F(TuningDatabaseTest, FailuresAreKeptAndNeverChosen) {
  TuningDatabase database(file());
  TuningRow crashed(test_key(), test_configuration(8), failed_observation(Status::crashed));
  ASSERT_TRUE(database.store({crashed, row(64, 30)}));
  EXPECT_EQ(database.lookup(test_key()).best->configuration, test_configuration(64));
  EXPECT_EQ(database.rows(test_key()).size(), 2U);
}

TEST_F(TuningDatabaseTest, WhatTheSpaceDoesNotHaveIsPassedOver) {
  TuningDatabase database(file());
  database.store({row(64, 30), row(32, 10), row(16, 20), row(8, 15)});
  auto accept = [](const Configuration& c) { return c.integer("rows") > 32; };
  EXPECT_EQ(database.lookup(test_key(), accept).best->configuration, test_configuration(64));
  EXPECT_FALSE(database.lookup(test_key(), [](const Configuration&) { return false; }).best);
}

TEST_F(TuningDatabaseTest, AnotherBuildsWinnerAndRunnerUpAreSeeds) {
  TuningDatabase database(file());
  database.store({row(64, 30), row(32, 10), row(16, 20)});
  TuningKey newer = test_key();
  newer.compiler.set("sources", "def");
  Lookup found = database.lookup(newer);
  EXPECT_FALSE(found.best);
  EXPECT_THAT(found.seeds, ElementsAre(row(32, 10), row(16, 20)));
  database.store({TuningRow(newer, test_configuration(16), ok_observation({12}))});
  EXPECT_EQ(database.lookup(newer).best->median_ns(), 12);
  EXPECT_EQ(database.rows(newer).size(), 1U);
  EXPECT_EQ(database.rows_of_question(newer).size(), 4U);
}

TEST_F(TuningDatabaseTest, SeedsAreOfTheBuildThatMeasuredLast) {
  TuningDatabase database(file());
  TuningKey older = test_key();
  older.compiler.set("llvm", "21.1.0");
  database.store({row(64, 30)});
  database.store({TuningRow(older, test_configuration(32), ok_observation({1}, new_year_ms - 5))});
  TuningKey newer = test_key();
  newer.compiler.set("llvm", "23.1.0");
  EXPECT_THAT(database.lookup(newer).seeds, ElementsAre(row(64, 30)));
}

TEST_F(TuningDatabaseTest, ASecondMeasurementOfAConfigurationJoinsTheFirst) {
  TuningDatabase database(file());
  ASSERT_TRUE(database.store({row(64, 30)}));
  TuningRow later(test_key(), test_configuration(64), ok_observation({1}, new_year_ms + 1));
  ASSERT_TRUE(database.store({later}));
  TuningRow stored = database.rows(test_key())[0];
  EXPECT_EQ(stored.observations.size(), 2U);
  EXPECT_EQ(stored.median_ns(), 30.5);
  EXPECT_EQ(database.counts().rows, 1);
  EXPECT_THAT(database.diagnostics().messages, IsEmpty());
}

TEST_F(TuningDatabaseTest, NeighboursAreTheBestOfTheNearestProblems) {
  TuningDatabase database(file());
  for (std::int64_t rows : {64, 512, 4096, 2048})
    database.store({TuningRow(test_key(rows), test_configuration(rows), ok_observation({9})),
                    TuningRow(test_key(rows), test_configuration(1), ok_observation({10}))});
  TuningKey elsewhere = test_key(1000);
  elsewhere.device.set("threads", 64);
  database.store({TuningRow(elsewhere, test_configuration(7), ok_observation({9}))});
  std::vector<TuningRow> near = database.neighbours(test_key(1024), 3);
  ASSERT_EQ(near.size(), 3U);
  EXPECT_EQ(near[2].configuration, test_configuration(4096));
  EXPECT_EQ(
      near[0].configuration.integer("rows").value() * near[1].configuration.integer("rows").value(),
      512 * 2048);
}

TEST_F(TuningDatabaseTest, AMissNamesTheFieldThatWasChangedWithBothValues) {
  TuningDatabase database(file());
  database.store({row(64, 30)});
  auto first = [&](auto change) {
    TuningKey key = test_key();
    change(key);
    Miss miss = database.why_miss(key);
    EXPECT_EQ(miss.differences.size(), 1U);
    return miss.differences.empty() ? "" : miss.differences[0].field;
  };
  auto text = [](auto record, const char* name) {
    return [=](TuningKey& key) { (key.*record).set(name, "other"); };
  };
  EXPECT_EQ(first([](TuningKey& key) { key.kernel_hash = Hash{1, 1}; }), "kernel_hash");
  for (const char* name : {"rows", "columns", "dtype", "added"})
    EXPECT_EQ(first(text(&TuningKey::problem, name)), std::string("problem.") + name);
  for (const char* name : {"name", "threads", "features"})
    EXPECT_EQ(first(text(&TuningKey::device, name)), std::string("device.") + name);
  for (const char* name : {"version", "llvm", "sources"})
    EXPECT_EQ(first(text(&TuningKey::compiler, name)), std::string("compiler.") + name);
  EXPECT_EQ(database.why_miss(test_key(2048)).text(),
            "the nearest key that is stored differs in problem.rows: wanted 2048, stored 1024");
}

TEST_F(TuningDatabaseTest, AMissOfAnUnknownKernelOrOfFailuresAloneSaysSo) {
  TuningDatabase database(file());
  TuningKey unknown = test_key();
  unknown.kernel = "unknown";
  unknown.kernel_hash = Hash{1, 1};
  EXPECT_EQ(database.why_miss(unknown).text(),
            "nothing is stored of this kernel, neither by its hash nor by its name");
  database.store(
      {TuningRow(unknown, test_configuration(8), failed_observation(Status::timed_out))});
  EXPECT_EQ(database.why_miss(unknown).text(), "the key is there, with 1 rows that failed");
}

TEST_F(TuningDatabaseTest, RemovingTheLastRowOfAKeyRemovesTheKey) {
  TuningDatabase database(file());
  database.store({row(64, 30), row(32, 10)});
  EXPECT_TRUE(database.remove({row(64, 30)}));
  EXPECT_EQ(database.counts().keys, 1);
  EXPECT_TRUE(database.remove({row(32, 10)}));
  DatabaseCounts counts = database.counts();
  EXPECT_EQ(counts.rows + counts.keys + counts.builds, 0);
}

TEST_F(TuningDatabaseTest, AnImpossibleRowIsNotStored) {
  TuningDatabase database(file());
  TuningRow wrong = row(64, 30);
  wrong.observations[0].samples_ns = {-1};
  EXPECT_FALSE(database.store({wrong, row(32, 10)}));
  EXPECT_EQ(database.rows(test_key()).size(), 1U);
  EXPECT_EQ(database.diagnostics().rejected_rows, 1);
}

TEST_F(TuningDatabaseTest, IsNamedByTheEnvironmentOrLiesInTheCacheFolder) {
  std::string cache = file() + ".cache";
  Setting folder("TILEWRIGHT_CACHE_DIR", cache.c_str());
  {
    Setting unset("TILEWRIGHT_TUNE_DB", nullptr);
    EXPECT_THAT(TuningDatabase().diagnostics().place, HasSubstr(cache + "/tuning/tuning.db"));
  }
  Setting named("TILEWRIGHT_TUNE_DB", file().c_str());
  EXPECT_THAT(TuningDatabase().diagnostics().place, HasSubstr(file()));
}

}  // namespace
}  // namespace tilewright::autotune::tuning_database_test
