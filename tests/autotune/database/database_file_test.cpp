// The file of a database of tuning: its name, its permissions, and rows that are replaced in one
// step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/rows.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::autotune::database_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TuningDatabase, OffIsNoFileOfThatName) {
  for (const char* word : {"off", "OFF"}) {
    Setting off("TILEWRIGHT_TUNE_DB", word);
    TuningDatabase database;
    EXPECT_FALSE(
        database.store({TuningRow(test_key(), test_configuration(1), ok_observation({1}))}));
    EXPECT_TRUE(database.lookup(test_key()).best) << "it is known in this process";
    EXPECT_THAT(database.diagnostics().messages,
                testing::ElementsAre("there is no place to keep it in: TILEWRIGHT_TUNE_DB is off"));
    EXPECT_FALSE(std::filesystem::exists(word));
  }
}

TEST(TuningDatabase, AUrlOfAnotherKindIsNoFolder) {
  Setting other("TILEWRIGHT_TUNE_DB", "sqlite://tuning.db");
  EXPECT_EQ(error_of([] { TuningDatabase(); }),
            "[TILEWRIGHT_TUNE_DB] \"sqlite://tuning.db\" is a URL of another kind; a file or "
            "postgresql://... would be right");
  EXPECT_EQ(error_of([] { TuningDatabase("mysql+x://a/b"); }),
            "[tuning database] \"mysql+x://a/b\" is a URL of another kind; a file or "
            "postgresql://... would be right");
  EXPECT_FALSE(std::filesystem::exists("sqlite:"));
}

TEST(TuningDatabase, ReplacesWhatThereIsOfAKeyInOneStep) {
  ScratchFolder folder;
  TuningDatabase database(folder.path() / "tuning.db");
  TuningKey older = test_key();
  older.compiler.set("sources", "older");
  TuningRow a(test_key(), test_configuration(1), ok_observation({10})),
      b(test_key(), test_configuration(2), ok_observation({20})),
      by_older(older, test_configuration(1), ok_observation({5})),
      elsewhere(test_key(7), test_configuration(1), ok_observation({5}));
  ASSERT_TRUE(database.store({a, by_older, elsewhere}));
  Replacement done = database.replace(test_key(), {b});
  EXPECT_TRUE(done.is_kept);
  EXPECT_EQ(done.rows, 1);
  EXPECT_EQ(done.why_not, "");
  ASSERT_EQ(database.rows(test_key()).size(), 1U);
  EXPECT_EQ(database.rows(test_key())[0], b);
  EXPECT_EQ(database.counts().rows, 3) << "what others measured stays";
}

TEST(TuningDatabase, WhereNothingCanBeReplacedWhatWasThereStaysAndTheReasonIsTold) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  TuningRow good(test_key(), test_configuration(1), ok_observation({10}));
  TuningDatabase database(file);
  ASSERT_TRUE(database.store({good}));
  TuningRow wrong = good;
  wrong.observations[0].date_ms = 4'200'000'000'000;
  Replacement refused = database.replace(test_key(), {wrong});
  EXPECT_FALSE(refused.is_kept);
  EXPECT_THAT(refused.why_not, HasSubstr("is not between 1970 and 2099"));
  EXPECT_EQ(database.rows(test_key()).size(), 1U);
  TuningRow other(test_key(), test_configuration(2), ok_observation({10}));
  Replacement unable = TuningDatabase(file, Access::read).replace(test_key(), {other});
  EXPECT_FALSE(unable.is_kept);
  EXPECT_NE(unable.why_not, "");
  EXPECT_EQ(database.rows(test_key())[0], good);
}

TEST(TuningDatabase, OnesOwnFileIsForTheUserAlone) {
  ScratchFolder folder;
  Setting cache("TILEWRIGHT_CACHE_DIR", folder.path().c_str()),
      unset("TILEWRIGHT_TUNE_DB", nullptr);
  std::filesystem::path file = folder.path() / "tuning" / "tuning.db";
  auto open_to_others = std::filesystem::perms(0077);
  {
    TuningDatabase database;
    ASSERT_TRUE(
        database.store({TuningRow(test_key(), test_configuration(1), ok_observation({1}))}));
    EXPECT_EQ(std::filesystem::status(file).permissions() & open_to_others,
              std::filesystem::perms::none);
  }
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  TuningDatabase again;
  EXPECT_TRUE(again.lookup(test_key()).best);
  EXPECT_EQ(std::filesystem::status(file).permissions() & open_to_others,
            std::filesystem::perms::none);
}

TEST(TuningDatabase, AFileThatAnybodyCouldReplaceIsNotWritten) {
  ScratchFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  TuningDatabase database(folder.path() / "tuning.db");
  EXPECT_FALSE(database.store({TuningRow(test_key(), test_configuration(1), ok_observation({1}))}));
  EXPECT_THAT(database.diagnostics().messages,
              testing::Contains(HasSubstr("may be written by everybody")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "tuning.db"));
}

}  // namespace
}  // namespace tilewright::autotune::database_file_test
