// Databases that somebody has made to do harm: they are left alone, or read within bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/database/exchange.h"
#include "autotune/database/sql/schema.h"
#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/sql/sqlite_pages.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"
#include "runtime/files/foreign_text.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::foreign_database_test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

TuningRow row_of(std::int64_t rows, double ns = 100) {
  return {test_key(rows), test_configuration(rows), ok_observation({ns})};
}

// In one file, without a log.
fs::path healthy(const ScratchFolder& folder, std::int64_t rows = 3) {
  fs::path file = folder.path() / "made.db";
  Store store(open_sqlite(file, SqliteAccess::read_write, SqliteJournal::rollback));
  for (std::int64_t i = 1; i <= rows; ++i) store.put({row_of(i)});
  return file;
}

TEST(ForeignDatabase, AViewInThePlaceOfATableIsRefusedBeforeItIsRead) {
  ScratchFolder folder;
  fs::path file = folder.path() / "view.db";
  ASSERT_EQ(
      run_sql(file, concat("PRAGMA application_id=", application_id,
                           "; PRAGMA user_version=1;"
                           "CREATE TABLE tuning_keys(id,kernel,kernel_hash,problem,device);"
                           "CREATE TABLE compiler_builds(id,compiler);"
                           "CREATE VIEW tuning_rows AS WITH RECURSIVE c(x) AS (SELECT 1 UNION "
                           "ALL SELECT x+1 FROM c) SELECT x key, 1 build, 0 configuration, 0 "
                           "status, 1.0 median_ns, 1.0 spread_ns, 1 date_ms, 0 observations, "
                           "1 checksum FROM c;")),
      "");
  TuningDatabase from(file, Access::read), into(folder.path() / "into.db");
  MergeReport report = merge(from, into);
  EXPECT_FALSE(report.is_complete);
  EXPECT_EQ(report.read, 0);
  EXPECT_THAT(report.messages, Contains(HasSubstr("it has the view \"tuning_rows\"")));
  EXPECT_FALSE(TuningDatabase(file).store({row_of(1)}));
}

TEST(ForeignDatabase, ATriggerIsRefusedAndTheFileStaysAsItIs) {
  ScratchFolder folder;
  fs::path file = healthy(folder);
  run_sql(file, "CREATE TRIGGER t AFTER INSERT ON tuning_rows BEGIN DELETE FROM tuning_rows; END");
  std::string before = read_file(file);
  TuningDatabase database(file);
  EXPECT_FALSE(database.store({row_of(9)}));
  EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("it has the trigger \"t\"")));
  EXPECT_EQ(read_file(file), before);
}

TEST(ForeignDatabase, AnotherTableIsNamedWithoutItsControlCharacters) {
  ScratchFolder folder;
  fs::path file = healthy(folder);
  run_sql(file, "CREATE TABLE \"\x1b]0;gone\x07\" (a)");
  TuningDatabase database(file);
  EXPECT_THAT(database.diagnostics().messages,
              Contains(HasSubstr("it has the table \"?]0;gone?\"")));
}

TEST(ForeignDatabase, WhatStatisticsAddIsNoHarm) {
  ScratchFolder folder;
  fs::path file = healthy(folder);
  EXPECT_EQ(run_sql(file, "ANALYZE"), "");
  EXPECT_TRUE(TuningDatabase(file).store({row_of(9)}));
}

// A write would be stored in the file of the other name, and in a log that the other name lacks.
TEST(ForeignDatabase, AFileWithASecondNameIsRefusedAndStaysAsItIs) {
  ScratchFolder folder, elsewhere;
  fs::path file = healthy(folder);
  std::string before = read_file(file);
  fs::create_hard_link(file, elsewhere.path() / "other.db");
  for (Access access : {Access::read, Access::read_write}) {
    TuningDatabase database(file, access);
    EXPECT_FALSE(database.store({row_of(9)}));
    EXPECT_THAT(database.diagnostics().messages,
                Contains(HasSubstr("made.db has 2 names (hard links); a copy with one name")));
  }
  EXPECT_EQ(read_file(file), before);
  fs::remove(elsewhere.path() / "other.db");
  EXPECT_TRUE(TuningDatabase(file).store({row_of(9)}));
}

TEST(ForeignDatabase, ALogWithASecondNameIsRefused) {
  ScratchFolder folder;
  fs::path file = healthy(folder), other = folder.write("other", "kept");
  fs::create_hard_link(other, folder.path() / "made.db-wal");
  TuningDatabase database(file);
  EXPECT_FALSE(database.store({row_of(9)}));
  EXPECT_THAT(database.diagnostics().messages,
              Contains(HasSubstr("made.db-wal has 2 names (hard links)")));
  EXPECT_EQ(read_file(other), "kept");
}

// Pages of which each is the only child, two hundred times over, of the one before: a walk over the
// table of keys would take 200^8 steps.
void grow_a_thicket(const fs::path& file) {
  std::string bytes = read_file(file);
  constexpr std::size_t page_bytes = 4096, cells = 200;
  constexpr std::uint32_t levels = 8;
  auto put = [&](std::size_t at, std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * (count - 1 - i)));
  };
  auto first = static_cast<std::uint32_t>(bytes.size() / page_bytes) + 1;
  std::string leaf = bytes.substr(page_bytes, page_bytes);  // of tuning_keys, which is page 2
  bytes.resize(bytes.size() + levels * page_bytes);
  bytes += leaf;
  auto write_interior = [&](std::uint32_t page, std::uint32_t child) {
    std::size_t at = (page - 1) * page_bytes, content = page_bytes - 5 * cells;
    std::fill_n(bytes.begin() + static_cast<long>(at), page_bytes, '\0');
    put(at, 5, 1);
    put(at + 3, cells, 2);
    put(at + 5, content, 2);
    put(at + 8, child, 4);
    for (std::size_t i = 0; i < cells; ++i) {
      put(at + 12 + 2 * i, content + 5 * i, 2);
      put(at + content + 5 * i, child, 4);
      put(at + content + 5 * i + 4, 1, 1);
    }
  };
  write_interior(2, first);
  for (std::uint32_t level = 0; level < levels; ++level)
    write_interior(first + level, first + level + 1);
  put(28, bytes.size() / page_bytes, 4);  // the file's size in its header
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST(ForeignDatabase, AFileThatWouldBeReadForEverIsGivenUp) {
  ScratchFolder folder;
  fs::path file = healthy(folder);
  grow_a_thicket(file);
  TuningDatabase database(file, Access::read);
  std::int64_t keys = 0;
  EXPECT_FALSE(database.each_key([&](const TuningKey&) { ++keys; }));
  EXPECT_EQ(database.counts().keys, 0);
  EXPECT_FALSE(database.problems().empty());
  EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("more steps than its size")));
}

TEST(ForeignDatabase, APipeOrADeviceIsNoDatabase) {
  ScratchFolder folder;
  fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& place : {pipe, fs::path("/dev/zero"), folder.path()}) {
    TuningDatabase database(place, Access::read);
    EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("is not a regular file")));
    EXPECT_FALSE(TuningDatabase(place).store({row_of(1)}));
  }
  // Nor is what lies beside one.
  fs::path file = healthy(folder);
  ASSERT_EQ(::mkfifo((file.string() + "-journal").c_str(), 0600), 0);
  EXPECT_THAT(TuningDatabase(file, Access::read).diagnostics().messages,
              Contains(HasSubstr("-journal is not a regular file")));
}

// Thousands of cells, each of which goes on through all pages of the file.
TEST(ForeignDatabase, LookingForRowsInAMadeFileTakesTimeLinearInItsSize) {
  ScratchFolder folder;
  constexpr std::size_t page_bytes = 512, pages = 128;
  std::string bytes(page_bytes * pages, '\0');
  bytes.replace(0, 15, "SQLite format 3");
  bytes[16] = 2;  // 512
  for (std::size_t page = 2; page <= pages; ++page) {
    std::size_t at = (page - 1) * page_bytes;
    std::size_t next = page == pages ? 2 : page + 1;
    if (page > pages / 2) {  // goes round
      bytes[at + 3] = static_cast<char>(next);
      continue;
    }
    bytes[at] = 10;
    bytes[at + 4] = 60;
    for (std::size_t i = 0; i < 60; ++i) {
      bytes[at + 8 + 2 * i] = 0;
      bytes[at + 9 + 2 * i] = static_cast<char>(140);
    }
    // A record of 2^19 bytes, 39 of them here: its type is one text.
    std::string cell = "\xa0\x80\x00";
    bytes.replace(at + 140, cell.size(), cell);
    bytes[at + 140 + 3] = 2;  // of the header, with one column that is null
    std::size_t rest = 140 + 3 + 39;
    bytes[at + rest + 3] = static_cast<char>(pages);
  }
  fs::path file = folder.write("made.db", bytes);
  std::int64_t read = 0;
  each_sqlite_record(file, [&](const SqliteRecord&) { ++read; });
  EXPECT_LT(read, 64) << "of 3780 that are there";
}

TEST(ForeignDatabase, WhatIsWrongIsQuotedSafely) {
  ScratchFolder folder;
  fs::path file = healthy(folder);
  run_sql(file, "UPDATE tuning_keys SET kernel_hash = char(27) || ']0;gone' || char(7)");
  TuningDatabase database(file, Access::read);
  database.each_row([](const TuningRow&) {});
  EXPECT_THAT(database.diagnostics().messages,
              Contains(HasSubstr("the hash of a kernel is \"?]0;gone?\"")));
  EXPECT_EQ(shown(std::string(100, 'a')), std::string(80, 'a') + "...");
}

TEST(ForeignDatabase, AMergeOfADamagedOneSaysThatRowsMayBeMissing) {
  ScratchFolder folder;
  fs::path file = healthy(folder, 300);
  std::string bytes = read_file(file);
  std::size_t lost = 0;  // the last page of rows: a leaf of a table without row numbers
  for (std::size_t at = 4096; at < bytes.size(); at += 4096)
    if (bytes[at] == 10 && bytes.find("samples_ns", at) < at + 4096) lost = at;
  ASSERT_GT(lost, 0U);
  std::string other = bytes.substr(lost, 4096);
  for (std::size_t at = 4096; at < bytes.size(); at += 4096)
    if (bytes[at] == 10 && at != lost && bytes.find("samples_ns", at) < at + 4096)
      other = bytes.substr(at, 4096);
  bytes.replace(lost, 4096, other);
  std::ofstream(file, std::ios::binary) << bytes;
  TuningDatabase from(file, Access::read), into(folder.path() / "into.db");
  MergeReport report = merge(from, into);
  EXPECT_FALSE(report.is_complete);
  EXPECT_THAT(report.messages, Contains(HasSubstr("is damaged, and rows may be missing")));
}

}  // namespace
}  // namespace tilewright::autotune::foreign_database_test
