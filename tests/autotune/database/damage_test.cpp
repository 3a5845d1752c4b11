// Damaged database files: readable rows are saved, and nothing wrong is believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/sql/sqlite_pages.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/faulty_reads.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/autotune/database/whole_database.h"
#include "tests/property/seeds.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::damage_test {
namespace {

using namespace testing_damage;

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

std::string damaged(std::uint64_t seed) {
  std::string bytes = whole_file();
  std::uint64_t state = seed;
  auto at = static_cast<std::size_t>(next_random(state) % bytes.size());
  switch (next_random(state) % 4) {
    case 0:  // a few bytes
      for (std::size_t i = 0; i < 1 + next_random(state) % 64 && at + i < bytes.size(); ++i)
        bytes[at + i] = static_cast<char>(next_random(state));
      break;
    case 1: bytes[at] ^= static_cast<char>(1 << next_random(state) % 8); break;
    case 2: bytes.replace(at / 4096 * 4096, 4096, std::string(4096, '\0')); break;
    default: bytes.resize(at); break;
  }
  return bytes;
}

TEST(DamagedDatabase, AnyDamageGivesRightRowsOrNoneAndGoesOn) {
  for (std::uint64_t seed : seeds_of_test(50)) {
    ScratchFolder folder;
    fs::path file = folder.write("tuning.db", damaged(seed));
    TuningDatabase database(file);
    rows_that_are_right(database);
    TuningRow fresh(test_key(keys + 1), test_configuration(1), ok_observation({1}));
    EXPECT_TRUE(database.store({fresh})) << reproduction(seed);
    TuningDatabase again(file);
    EXPECT_TRUE(again.lookup(fresh.key).best) << reproduction(seed);
    rows_that_are_right(again);
    ASSERT_FALSE(HasFailure()) << reproduction(seed);
  }
}

TEST(DamagedDatabase, TheRowsOfOtherPagesAreSaved) {
  const std::int64_t all = keys * configurations;
  const auto pages = whole_file().size() / 4096;
  for (std::size_t page = 0; page < pages; page += 7) {
    ScratchFolder folder;
    std::string bytes = whole_file();
    bytes.replace(page * 4096, 4096, std::string(4096, '\xff'));
    fs::path file = folder.write("tuning.db", bytes);
    TuningDatabase database(file);
    // Makes it look at every page.
    if (!database.problems().empty()) database.clean();
    // A page may hold a fifth of the keys, or the tops of trees, which are then not needed.
    EXPECT_GE(rows_that_are_right(database), all * 2 / 5) << page;
    EXPECT_TRUE(database.store(rows_of(1)));
  }
}

TEST(DamagedDatabase, TheDamagedFileIsKeptBesideTheNewOne) {
  ScratchFolder folder;
  std::string bytes = whole_file();
  bytes.replace(0, 4096, std::string(4096, '\0'));
  fs::path file = folder.write("tuning.db", bytes);
  TuningDatabase database(file);
  EXPECT_EQ(rows_that_are_right(database), keys * configurations);
  EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("480 rows of it were saved")));
  bool is_kept = false;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    is_kept |= entry.path().string().find(".corrupt-") != std::string::npos &&
               read_file(entry.path()) == bytes;
  EXPECT_TRUE(is_kept);
}

TEST(DamagedDatabase, RowsThatAreOnlyInTheLogAreSavedToo) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  pid_t child = start([&] {
    TuningDatabase database(file);
    for (std::int64_t key = 1; key <= 5; ++key) database.store(rows_of(key));
    return 0;  // with the log as it is
  });
  ASSERT_EQ(end_of(child), 0);
  std::int64_t records = 0;
  each_sqlite_record(file, [&](const SqliteRecord&) { ++records; });
  EXPECT_GT(records, 5 * configurations);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << std::string(4096, 'x');
  TuningDatabase database(file);
  rows_that_are_right(database);
  EXPECT_EQ(database.counts().rows, 5 * configurations);
}

TEST(DamagedDatabase, ProcessesThatFindTheDamageTogetherMendItOnce) {
  ScratchFolder folder;
  std::string bytes = whole_file();
  bytes.replace(0, 4096, std::string(4096, '\0'));
  fs::path file = folder.write("tuning.db", bytes);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(start([&, i] {
      TuningDatabase database(file);
      TuningRow own(test_key(1000 + i), test_configuration(1), ok_observation({1}));
      return database.store({own}) && database.lookup(test_key(1)).best ? 0 : 1;
    }));
  for (pid_t child : children) EXPECT_EQ(end_of(child), 0);
  TuningDatabase database(file);
  EXPECT_EQ(database.counts().rows, keys * configurations + 8);
  int moved = 0;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    moved += entry.path().string().find(".corrupt-") != std::string::npos;
  EXPECT_EQ(moved, 1);
}

TEST(DamagedDatabase, AFileThatIsNoDatabaseStaysAsItIs) {
  ScratchFolder folder;
  std::string text = "Dear diary, " + std::string(9000, '.');
  fs::path file = folder.write("diary.txt", text);
  TuningDatabase database(file);
  EXPECT_FALSE(database.store(rows_of(1)));
  EXPECT_TRUE(database.lookup(test_key(1)).best);
  EXPECT_TRUE(read_file(file) == text);
  EXPECT_FALSE(fs::exists(file.string() + ".lock"));
  EXPECT_THAT(database.diagnostics().messages, Contains(HasSubstr("is not a tuning database")));
}

// In a process of its own, since the message is printed once per process.
TEST(DamagedDatabase, ThatAFileIsNoDatabaseIsSaidInOneLine) {
  ScratchFolder folder;
  fs::path file = folder.write("diary.txt", "Dear diary, ");
  EXPECT_EXIT(
      {
        TuningDatabase(file).store(rows_of(1));
        std::_Exit(0);  // a sanitizer says something of threads at a usual exit
      },
      testing::ExitedWithCode(0),
      "^tilewright: .*diary.txt is not a tuning database; it is left alone, and nothing is "
      "kept\n$");
}

// A disk that fails once is no damage: whichever read it is, no row is lost, and the file stays.
TEST(DamagedDatabase, AReadThatFailsOnceMovesNothingAway) {
  for (int code : {SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_READ}) {
    bool has_failed = true;
    std::int64_t which = 0;
    while (has_failed) {
      ScratchFolder folder;
      fs::path file = folder.write("tuning.db", whole_file());
      FaultyReads faults(++which, code);
      {
        TuningDatabase database(file);
        database.lookup(test_key(1));
        database.store(rows_of(keys + 1));
        database.each_row([](const TuningRow&) {});
      }
      has_failed = faults.has_failed();
      ASSERT_THAT(files_moved_aside(folder.path()), testing::IsEmpty()) << which << ' ' << code;
      TuningDatabase again(file);
      ASSERT_EQ(rows_that_are_right(again), keys * configurations) << which << ' ' << code;
      ASSERT_TRUE(again.problems().empty()) << which << ' ' << code;
    }
    EXPECT_GT(which, 20) << "reads";
  }
}

TEST(DamagedDatabase, OnlyTheNewestDamagedFilesAreKept) {
  ScratchFolder folder;
  fs::path file = folder.path() / "tuning.db";
  for (int day = 1; day <= 6; ++day) {
    std::string old = concat("tuning.db.corrupt-2020010", day, "T000000Z-", day);
    folder.write(old, "damaged");
    folder.write(old + "-wal", "its log");
  }
  std::vector<std::string> others = {"tuning.db.corrupt-by-hand", "tuning.db.corrupt-",
                                     "other.db.corrupt-20200101T000000Z-1"};
  for (const std::string& other : others) folder.write(other, "not ours");
  std::string bytes = whole_file();
  bytes.replace(0, 4096, std::string(4096, '\0'));
  folder.write("tuning.db", bytes);
  EXPECT_EQ(TuningDatabase(file).counts().rows, keys * configurations);
  for (const std::string& other : others) EXPECT_TRUE(fs::exists(folder.path() / other)) << other;
  for (int day = 1; day <= 6; ++day) {
    fs::path old = folder.path() / concat("tuning.db.corrupt-2020010", day, "T000000Z-", day);
    EXPECT_EQ(fs::exists(old), day > 3) << day;
    EXPECT_EQ(fs::exists(old.string() + "-wal"), day > 3) << day;
  }
  // The three of these, the new one, and what is not ours.
  EXPECT_EQ(files_moved_aside(folder.path()).size(), 2 * 3 + 1 + others.size());
}

// Each bit of the numbers in SQLite's header that describe the file and its tables is flipped: the
// rows are saved, or the file is left alone and the error names the damage.
TEST(DamagedDatabase, AFlippedBitInItsMarkOrVersionIsMendedOrSaid) {
  int said = 0;
  for (std::size_t offset : {60, 68})  // user_version, application_id
    for (std::size_t bit = 0; bit < 32; ++bit) {
      std::string bytes = whole_file();
      bytes[offset + bit / 8] ^= static_cast<char>(1 << bit % 8);
      ScratchFolder folder;
      fs::path file = folder.write("tuning.db", bytes);
      TuningDatabase database(file);
      bool is_kept = database.store(rows_of(keys + 1));
      if (is_kept) {
        EXPECT_EQ(database.counts().rows, (keys + 1) * configurations) << offset << ' ' << bit;
        continue;
      }
      ++said;
      EXPECT_THAT(database.diagnostics().messages,
                  Contains(HasSubstr("of a newer version of Tilewright")))
          << offset << ' ' << bit;
      EXPECT_EQ(read_file(file), bytes) << offset << ' ' << bit;
    }
  EXPECT_LE(said, 11);  // bits of a version that there may be some day, up to 4095
}

}  // namespace
}  // namespace tilewright::autotune::damage_test
