// Rows, keys and indexes of a database that are wrong one by one: they are passed over, counted,
// mended and cleaned away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/autotune/database/whole_database.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::wrong_rows_test {
namespace {

using namespace testing_damage;

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

TEST(DamagedDatabase, AWrongRowIsPassedOverCountedAndCleanedAway) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase(file).store(rows_of(1));
  run_sql(file, "UPDATE tuning_rows SET median_ns = 1 WHERE configuration LIKE '%rows=7'");
  TuningDatabase database(file);
  EXPECT_EQ(database.lookup(test_key(1)).best->configuration, test_configuration(1));
  EXPECT_GT(database.diagnostics().rejected_rows, 0);
  EXPECT_THAT(database.diagnostics().messages, Contains("a row is left out: a checksum is wrong"));
  EXPECT_EQ(database.clean(), 1);
  EXPECT_EQ(database.counts().rows, configurations - 1);
}

TEST(DamagedDatabase, IndexesThatLackRowsAreMended) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase(file).store(rows_of(1));
  // The index loses its rows: its root is made an empty leaf.
  std::size_t root =
      std::stoul(run_sql(file, "SELECT rootpage FROM sqlite_master WHERE name = 'best_rows'"));
  run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = read_file(file);
  std::string empty("\x0a\0\0\0\0\x10\0\0", 8);
  bytes.replace((root - 1) * 4096, 8, empty);
  std::ofstream(file, std::ios::binary) << bytes;
  TuningDatabase database(file);
  EXPECT_FALSE(database.problems().empty());
  EXPECT_EQ(database.clean(), 0);
  EXPECT_THAT(database.problems(), testing::IsEmpty());
  EXPECT_TRUE(database.lookup(test_key(1)).best);
  EXPECT_EQ(database.counts().rows, configurations);
}

// If its index were rebuilt in place, the pages of the old one would be free to write to, and they
// are those of the table.
TEST(DamagedDatabase, AnIndexThatLeadsIntoATableCostsNoRow) {
  constexpr std::int64_t many = 1000;  // whose pages are more than the problems that are listed
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  {
    std::vector<TuningRow> rows;
    for (std::int64_t key = 1; key <= many; ++key)
      rows.emplace_back(test_key(key), test_configuration(1), ok_observation({100}));
    ASSERT_TRUE(TuningDatabase(file).store(rows));
  }
  run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)");
  auto place_of_root = [&](const std::string& name) {
    std::string sql = "SELECT rootpage FROM sqlite_master WHERE name = '" + name + "'";
    return (std::stoul(run_sql(file, sql)) - 1) * 4096;
  };
  std::size_t keys_at = place_of_root("tuning_keys"), index_at = place_of_root("keys_by_hash");
  std::string bytes = read_file(file);
  auto number = [&](std::size_t at, int size) {
    std::size_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  ASSERT_EQ(bytes[keys_at], 5) << "the root has children";
  ASSERT_EQ(bytes[index_at], 2) << "the root has children";
  // The first leaf of the index becomes what leads to all keys.
  std::size_t first_leaf = (number(index_at + number(index_at + 12, 2), 4) - 1) * 4096;
  bytes.replace(first_leaf, 4096, bytes.substr(keys_at, 4096));
  std::ofstream(file, std::ios::binary) << bytes;
  {
    TuningDatabase database(file);
    EXPECT_FALSE(database.problems().empty());
    EXPECT_EQ(database.clean(), 0);
  }
  TuningDatabase mended(file);
  EXPECT_THAT(mended.problems(), testing::IsEmpty());
  EXPECT_EQ(mended.counts().rows, many);
  std::vector<fs::path> aside = files_moved_aside(folder.path());
  ASSERT_EQ(aside.size(), 1u);
  EXPECT_TRUE(read_file(aside[0]) == bytes) << "it is never written";
}

TEST(DamagedDatabase, CleaningGivesRoomBack) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase database(file);
  for (std::int64_t key = 1; key <= keys; ++key) ASSERT_TRUE(database.store(rows_of(key)));
  std::int64_t before = database.counts().size_bytes;
  for (std::int64_t key = 2; key <= keys; ++key) ASSERT_TRUE(database.remove(rows_of(key)));
  EXPECT_EQ(database.clean(), 0);
  EXPECT_LT(database.counts().size_bytes, before / 4);
  EXPECT_LT(static_cast<std::int64_t>(fs::file_size(file)), before / 4);
  EXPECT_EQ(database.diagnostics().failures, 0);
}

TEST(DamagedDatabase, ANameThatHasChangedIsFound) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase(file).store(rows_of(1));
  run_sql(file, "UPDATE tuning_keys SET kernel = 'Xows_gelu'");
  TuningDatabase database(file);
  std::int64_t rows = 0;
  database.each_row([&](const TuningRow&) { ++rows; });
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(database.diagnostics().rejected_rows, configurations);
}

// Two programs may call one kernel by two names.
TEST(DamagedDatabase, RowsOfAQuestionWithTwoNamesAreAllRight) {
  ScratchFolder folder;
  TuningDatabase database(folder.path() / "tuning.db");
  std::vector<TuningRow> rows = rows_of(1), others(rows.begin() + 6, rows.end());
  rows.resize(6);
  for (TuningRow& row : others) row.key.kernel = "a_lesser_name";
  ASSERT_TRUE(database.store(rows));
  ASSERT_TRUE(database.store(others));
  ASSERT_TRUE(database.store({rows[0], others[0]}));
  std::int64_t read = 0;
  database.each_row([&](const TuningRow& row) {
    EXPECT_EQ(row.key.kernel, "a_lesser_name");
    ++read;
  });
  EXPECT_EQ(read, configurations);
  EXPECT_EQ(database.rows(test_key(1)).size(), static_cast<std::size_t>(configurations));
  EXPECT_EQ(database.lookup(test_key(1)).best->configuration, test_configuration(1));
  EXPECT_EQ(database.diagnostics().rejected_rows, 0);
}

TEST(DamagedDatabase, OnesOwnWithAnotherMarkIsSalvaged) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase(file).store(rows_of(1));
  run_sql(file, "PRAGMA application_id=5");
  TuningDatabase database(file);
  EXPECT_TRUE(database.store(rows_of(2)));
  EXPECT_EQ(database.counts().rows, 2 * configurations);
  EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("12 rows of it were saved")));
}

TEST(DamagedDatabase, RowsOfALostKeyAreCleanedAway) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  TuningDatabase(file).store(rows_of(1));
  TuningDatabase(file).store(rows_of(2));
  run_sql(file, "DELETE FROM tuning_keys WHERE problem LIKE '%rows=1'");
  TuningDatabase database(file);
  EXPECT_EQ(database.clean(), configurations);
  EXPECT_EQ(database.counts().rows, configurations);
}

}  // namespace
}  // namespace tilewright::autotune::wrong_rows_test
