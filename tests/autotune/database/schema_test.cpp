// Databases of every version of the schema are read, and come out as the present one.
//
// schema/<version>.sql is a database of that version as text; a version is added, never changed.
#include "autotune/database/sql/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::autotune::schema_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string golden(int version) {
  return read_file(
      concat(source_folder().string(), "/tests/autotune/database/schema/", version, ".sql"));
}

std::string tables_of(const std::filesystem::path& file) {
  return run_sql(file,
                 "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name; "
                 "PRAGMA application_id; PRAGMA user_version");
}

// The rows of every golden database.
std::vector<TuningRow> golden_rows() {
  TuningRow twice(test_key(), test_configuration(64), ok_observation({30, 31.5, 32}));
  twice.observations = join(twice.observations, {ok_observation({29}, new_year_ms + 1000)});
  return {twice,
          TuningRow(test_key(), test_configuration(32), failed_observation(Status::wrong_result))};
}

TEST(Schema, DatabasesOfEveryVersionAreReadAndBroughtUpToDate) {
  ScratchFolder folder;
  TuningDatabase(folder.path() / "fresh.db");
  for (int version = 1; version <= schema_version; ++version) {
    std::filesystem::path file = folder.path() / concat(version, ".db");
    ASSERT_EQ(run_sql(file, golden(version)), "");
    TuningDatabase database(file);
    std::vector<TuningRow> rows = database.rows(test_key());
    EXPECT_THAT(rows, testing::UnorderedElementsAreArray(golden_rows())) << version;
    EXPECT_TRUE(
        database.store({TuningRow(test_key(), test_configuration(8), ok_observation({9}))}));
    EXPECT_THAT(database.diagnostics().messages, IsEmpty());
    EXPECT_EQ(tables_of(file), tables_of(folder.path() / "fresh.db")) << version;
  }
}

TEST(Schema, ADatabaseOfANewerVersionIsLeftAlone) {
  ScratchFolder folder;
  std::filesystem::path file = folder.path() / "tuning.db";
  run_sql(file, golden(schema_version) + "PRAGMA user_version=1000;");
  std::string before = read_file(file);
  TuningDatabase database(file);
  EXPECT_FALSE(database.store({golden_rows()[0]}));
  EXPECT_TRUE(database.lookup(test_key()).best) << "from memory";
  EXPECT_TRUE(read_file(file) == before);
  EXPECT_THAT(database.diagnostics().messages,
              ElementsAre(HasSubstr("has schema 1000, of a newer version of Tilewright")));
}

TEST(Schema, ADatabaseOfAnotherProgramIsLeftAlone) {
  ScratchFolder folder;
  std::filesystem::path file = folder.path() / "bookmarks.db";
  run_sql(file, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('a');");
  std::string before = read_file(file);
  TuningDatabase database(file);
  EXPECT_FALSE(database.store({golden_rows()[0]}));
  EXPECT_TRUE(read_file(file) == before);
  EXPECT_THAT(database.diagnostics().messages,
              ElementsAre(HasSubstr("is a database of another program")));
}

}  // namespace
}  // namespace tilewright::autotune::schema_test
