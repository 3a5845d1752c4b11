// The messages of `tilewright db` for words and files that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/database_command.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"
#include "tools/database/selection.h"

namespace tilewright::autotune::command_misuse_test {
namespace {

using namespace testing_commands;

using testing::HasSubstr;

TEST_F(DatabaseMisuse, WhatIsNotStoredIsNamedWithWhatIsNearest) {
  EXPECT_THAT(
      misuse_of({"show", "rows_gleu"}),
      HasSubstr("[db] nothing is stored of \"rows_gleu\", neither a kernel's name nor an id; "
                "did you mean rows_gelu?; `tilewright db list` shows the 2 questions"));
  for (const char* command : {"list", "best", "history", "prune"})
    EXPECT_THAT(misuse_of({command, "nosuch"}), HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_THAT(misuse_of({"report", "nosuch", "--out", file("page.html")}),
              HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_THAT(misuse_of({"export", file("all.jsonl"), "--kernel", "nosuch"}),
              HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_FALSE(std::filesystem::exists(file("all.jsonl")));
}

TEST_F(DatabaseMisuse, ADatabaseOrFileThatIsNotThereIsNamedAndNotMade) {
  std::string none = file("none.db");
  for (const char* command : {"list", "show", "verify", "stats"})
    EXPECT_THAT(misuse_of({command, "--db", none}),
                HasSubstr("[db] there is no database \"" + none +
                          "\"; --db or TILEWRIGHT_TUNE_DB names one"));
  EXPECT_THAT(misuse_of({"diff", none}), HasSubstr("there is no database"));
  EXPECT_THAT(misuse_of({"merge", none}), HasSubstr("there is no database"));
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_THAT(misuse_of({"import", file("none.jsonl")}),
              HasSubstr("[db] there is no file \"" + file("none.jsonl") +
                        "\"; name files that `export` wrote"));
}

TEST_F(DatabaseMisuse, ValuesThatCannotBeAreNamed) {
  EXPECT_THAT(misuse_of({"why-miss", "rows_gelu", "--hash", "12"}),
              HasSubstr("[db] --hash is \"12\"; 32 hexadecimal digits are right"));
  EXPECT_THAT(misuse_of({"why-miss", "rows_gelu", "--problem", "7"}),
              HasSubstr("[db] --problem is \"7\""));
  EXPECT_THAT(misuse_of({"diff", "a.db", "b.db"}),
              HasSubstr("[db] diff takes one other database, not 2"));
  EXPECT_THAT(misuse_of({"prune"}), HasSubstr("[db] prune has no selection of rows to remove"));
}

TEST_F(DatabaseMisuse, WhereThereIsNoPlaceForADatabaseTheReasonIsTold) {
  Setting unset("TILEWRIGHT_TUNE_DB", nullptr), off("TILEWRIGHT_CACHE_DIR", "off");
  folder_.write("some.jsonl", "");
  for (const char* command : {"list", "stats", "verify"})
    EXPECT_EQ(misuse_of({command, "--db", ""}),
              "[db] there is no database: TILEWRIGHT_CACHE_DIR is off; --db or TILEWRIGHT_TUNE_DB "
              "names one");
  EXPECT_THAT(misuse_of({"import", file("some.jsonl"), "--db", ""}),
              HasSubstr("[db] there is no database: TILEWRIGHT_CACHE_DIR is off"));
  EXPECT_THAT(misuse_of({"list", "--db", "sqlite://x"}),
              HasSubstr("\"sqlite://x\" is a URL of another kind"));
}

}  // namespace
}  // namespace tilewright::autotune::command_misuse_test
