// Files that `tilewright db` exports and imports, also where that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/database_command.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"
#include "tools/console/misuse.h"

namespace tilewright::autotune::command_files_test {
namespace {

using namespace testing_commands;

using testing::HasSubstr;

TEST_F(DatabaseCommand, RowsGoToAFileAndIntoAnotherDatabase) {
  EXPECT_THAT(run({"export", file("all.jsonl")}).out, HasSubstr("5 rows"));
  std::string one = file("one.db"), two = file("two.db");
  EXPECT_EQ(run({"import", file("all.jsonl"), "--db", two}).code, 0);
  EXPECT_EQ(TuningDatabase(two).counts().rows, 5);
  EXPECT_EQ(run({"diff", "--db", one, two, "--format", "csv"}).out.find('\n') + 1,
            run({"diff", "--db", one, two, "--format", "csv"}).out.size())
      << "the header alone";
  TuningRow more(test_key(), test_configuration(128), ok_observation({9e3}));
  TuningDatabase(two).store({more});
  EXPECT_THAT(run({"diff", "--db", one, two, "--format", "csv"}).out,
              HasSubstr(",0,1,0,10000,9000,"));
  EXPECT_EQ(run({"merge", "--db", one, two}).code, 0);
  EXPECT_EQ(TuningDatabase(one).counts().rows, 6);
}

TEST_F(DatabaseCommand, WhyAFileIsNotMergedIsSaidOnce) {
  std::string none = folder_.write("none.db", "Dear diary");
  testing::internal::CaptureStderr();
  Output merged = run({"merge", none});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "  cannot use " + none + ": file is not a database (26)\n");
  EXPECT_EQ(merged.out, none + ": 0 rows, not complete\n");
  EXPECT_EQ(merged.code, 1);
}

TEST_F(DatabaseCommand, AnExportThatFailsLeavesTheLastOneAsItWas) {
  run({"export", file("all.jsonl")});
  std::string before = read_file(file("all.jsonl"));
  folder_.write("none.db", "Dear diary");
  EXPECT_THROW(run({"export", file("all.jsonl"), "--db", file("none.db")}), Error);
  EXPECT_EQ(read_file(file("all.jsonl")), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().extension(), ".part");
}

// More than one buffer of it, so that the failure comes amid the rows.
TEST_F(DatabaseCommand, AnExportThatFindsNoRoomNamesTheFile) {
  std::vector<TuningRow> rows;
  for (std::int64_t i = 1; i <= 300; ++i)
    rows.emplace_back(test_key(), test_configuration(i), ok_observation({3e4, 3.1e4}));
  TuningDatabase(file("one.db")).store(rows);
  EXPECT_THAT(error_of([&] {
                run({"export", "/dev/full"});
              }),
              HasSubstr("[db] cannot write /dev/full: No space left on device"));
}

TEST_F(DatabaseCommand, WhatIsNoFileIsNotImported) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& name : {file("pipe"), std::string("/dev/zero")})
    expect_contains(error_of([&] {
                      run({"import", name});
                    }),
                    "[db] cannot read " + name + ": it is not a regular file");
}

TEST_F(DatabaseCommand, ImportingWhatIsWrongSaysSoAndEndsWithOne) {
  folder_.write("bad.jsonl", "{\"kernel\":1}\n");
  Output bad = run({"import", file("bad.jsonl")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("0 rows, 1 row left out, not complete"));
}

TEST_F(DatabaseCommand, ImportingWhatCannotBeKeptCountsTheRows) {
  ASSERT_EQ(run({"export", file("all.jsonl")}).code, 0);
  folder_.write("file", "");
  Output lost = run({"import", "--db", file("file") + "/tuning.db", file("all.jsonl")});
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.out, HasSubstr("all.jsonl: 5 rows, 5 of them not kept\n"));
}

}  // namespace
}  // namespace tilewright::autotune::command_files_test
