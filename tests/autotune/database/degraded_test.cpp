// Places in which nothing can be kept: slower, and never an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "autotune/database/tuning_database.h"
#include "runtime/base/error.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::autotune::degraded_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

TuningRow row_of(std::int64_t rows, double ns = 100) {
  return {test_key(rows), test_configuration(rows), ok_observation({ns})};
}

// Stores rows until one is not kept; which, or `limit`.
std::int64_t store_until_full(TuningDatabase& database, std::int64_t limit) {
  for (std::int64_t rows = 1; rows < limit; ++rows)
    if (!database.store({row_of(rows)})) return rows;
  return limit;
}

// Checks, in a child, the behaviour once the disk is full. 0: all does.
int live_with_a_full_disk(const std::string& file, const std::function<void()>& make_room) {
  TuningDatabase database(file);
  constexpr std::int64_t limit = 20'000;
  std::int64_t first_not_kept = store_until_full(database, limit);
  if (first_not_kept < 10 || first_not_kept == limit) return 1;
  for (std::int64_t rows = 1; rows <= first_not_kept; ++rows)
    if (!database.lookup(test_key(rows)).best) return 2;
  if (!database.problems().empty()) return 3;
  make_room();
  if (!database.store({row_of(limit)})) return 4;
  return TuningDatabase(file).lookup(test_key(limit)).best ? 0 : 5;
}

TEST(DegradedDatabase, AFullDiskKeepsWhatItHasAndTakesMoreOnceThereIsRoom) {
  ScratchFolder folder;
  pid_t child = start([&] {
    const std::string disk = folder.path();
    bool has_disk = ::unshare(CLONE_NEWNS) == 0 &&
                    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!has_disk) return 77;
    std::ofstream(disk + "/filler") << std::string(400'000, 'x');
    return live_with_a_full_disk(disk + "/tuning.db", [&] { fs::remove(disk + "/filler"); });
  });
  int end = end_of(child);
  if (end == 77) GTEST_SKIP() << "no small disk can be mounted here";
  EXPECT_EQ(end, 0);
}

TEST(DegradedDatabase, AFileThatMayNotGrowIsLikeAFullDisk) {
  ScratchFolder folder;
  pid_t child = start([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{400'000, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return live_with_a_full_disk(folder.path() / "tuning.db", [] {
      rlimit none{RLIM_INFINITY, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &none);
    });
  });
  EXPECT_EQ(end_of(child), 0);
}

// Said once a process, of two rows that a new database on a full disk cannot keep. 0: it is.
int make_one_on_a_full_disk(const std::string& file) {
  testing::internal::CaptureStderr();
  TuningDatabase database(file);
  bool is_kept = database.store({row_of(1)}) || database.store({row_of(2)});
  std::string said = testing::internal::GetCapturedStderr();
  if (is_kept || database.diagnostics().keeps) return 1;
  if (database.diagnostics().messages.empty()) return 2;
  std::string message = database.diagnostics().messages[0];
  bool names_the_disk = message.find("disk is full") != message.npos ||
                        message.find("disk I/O error") != message.npos;
  if (!names_the_disk || message.find("schema") != message.npos) return 3;
  std::string wanted = concat("tilewright: ", message, "; other results are kept in memory\n");
  if (said != wanted) return 4;
  return database.lookup(test_key(2)).best ? 0 : 5;
}

TEST(DegradedDatabase, AFullDiskIsNamedWhereANewOneIsMade) {
  ScratchFolder folder;
  pid_t child = start([&] {
    const std::string disk = folder.path();
    bool has_disk = ::unshare(CLONE_NEWNS) == 0 &&
                    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!has_disk) return 77;
    std::ofstream(disk + "/filler") << std::string(1 << 17, 'x');
    return make_one_on_a_full_disk(disk + "/tuning.db");
  });
  int end = end_of(child);
  if (end == 77) GTEST_SKIP() << "no small disk can be mounted here";
  EXPECT_EQ(end, 0);
}

TEST(DegradedDatabase, AFileThatMayNotBeginIsNamedToo) {
  ScratchFolder folder;
  pid_t child = start([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{0, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    // Without a file of its own to capture the message.
    TuningDatabase database(folder.path() / "tuning.db");
    if (database.store({row_of(1)}) || database.diagnostics().messages.empty()) return 1;
    return database.diagnostics().messages[0].find("schema") == std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(end_of(child), 0);
}

std::string said_of(const std::string& where, Access access) {
  ScratchFolder folder;
  pid_t child = start([&] {
    testing::internal::CaptureStderr();
    TuningDatabase database(where, access);
    database.store({row_of(1)});
    database.store({row_of(2)});
    folder.write("said", testing::internal::GetCapturedStderr());
    return 0;
  });
  EXPECT_EQ(end_of(child), 0);
  return read_file(folder.path() / "said");
}

TEST(DegradedDatabase, ANamedPlaceThatIsNotThereIsSaidOnceToThoseWhoWouldKeepSomething) {
  ScratchFolder folder;
  std::string nowhere = folder.write("file", "") / "tuning.db";
  std::string said = said_of(nowhere, Access::read_write);
  EXPECT_THAT(said, HasSubstr("tilewright: cannot open " + nowhere));
  EXPECT_THAT(said, HasSubstr("; other results are kept in memory\n"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_EQ(said_of(nowhere, Access::read), "");
  ::mkfifo((folder.path() / "pipe").c_str(), 0600);
  EXPECT_THAT(said_of(folder.path() / "pipe", Access::read_write),
              HasSubstr("pipe is not a regular file"));
}

TEST(DegradedDatabase, WithoutAnyPlaceNothingIsSaid) {
  Setting off("TILEWRIGHT_CACHE_DIR", "off"), unset("TILEWRIGHT_TUNE_DB", nullptr);
  EXPECT_EQ(said_of("", Access::read_write), "");
}

// As a user with read but no write access to the folder.
int read_what_may_not_be_written(const fs::path& folder) {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return 77;
  TuningDatabase database(folder / "tuning.db");
  if (!database.lookup(test_key(64)).best) return 1;
  if (database.diagnostics().keeps || database.store({row_of(32)})) return 2;
  if (!database.lookup(test_key(32)).best) return 3;
  TuningDatabase none(folder / "none" / "tuning.db");
  if (none.lookup(test_key(64)).best || none.store({row_of(64)})) return 4;
  if (none.diagnostics().messages.empty()) return 5;
  return none.lookup(test_key(64)).best ? 0 : 6;
}

TEST(DegradedDatabase, AFolderThatMayNotBeWrittenIsReadAndTheRestStaysInMemory) {
  ScratchFolder folder;
  ASSERT_TRUE(TuningDatabase(folder.path() / "tuning.db").store({row_of(64)}));
  fs::permissions(folder.path() / "tuning.db", fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_EQ(end_of(start([&] { return read_what_may_not_be_written(folder.path()); })), 0);
  fs::permissions(folder.path(), fs::perms(0755));
}

TEST(DegradedDatabase, WithoutAPlaceTheMemoryOfTheProcessServes) {
  Setting off("TILEWRIGHT_CACHE_DIR", "off"), unset("TILEWRIGHT_TUNE_DB", nullptr);
  TuningDatabase database;
  EXPECT_FALSE(database.store({row_of(64, 30), row_of(64, 20)}));
  EXPECT_TRUE(database.lookup(test_key(64)).best);
  EXPECT_EQ(database.rows(test_key(64)).size(), 1U);
  EXPECT_EQ(database.why_miss(test_key(32)).differences[0].field, "problem.rows");
  EXPECT_EQ(database.neighbours(test_key(32), 5).size(), 1U);
  EXPECT_FALSE(database.diagnostics().keeps);
  EXPECT_THAT(database.diagnostics().messages,
              testing::ElementsAre(
                  HasSubstr("there is no place to keep it in: TILEWRIGHT_CACHE_DIR is off")));
}

TEST(DegradedDatabase, APlaceThatIsAFolderIsNoPlace) {
  ScratchFolder folder;
  TuningDatabase database(folder.path());
  EXPECT_FALSE(database.store({row_of(64)}));
  EXPECT_TRUE(database.lookup(test_key(64)).best);
}

TEST(DegradedDatabase, WhereEverybodyMayWriteNoFolderIsMadeForIt) {
  ScratchFolder folder;
  fs::permissions(folder.path(), fs::perms(0777));
  TuningDatabase database(folder.path() / "new" / "tuning.db");
  EXPECT_FALSE(database.store({row_of(64)}));
  EXPECT_THAT(
      database.diagnostics().messages,
      testing::Contains(HasSubstr(folder.path().string() + " may be written by everybody")));
  EXPECT_FALSE(fs::exists(folder.path() / "new"));
}

TEST(DegradedDatabase, ADatabaseOpenedForReadingIsNotWritten) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  ASSERT_TRUE(TuningDatabase(file).store({row_of(64)}));
  TuningDatabase database(file, Access::read);
  EXPECT_TRUE(database.lookup(test_key(64)).best);
  EXPECT_FALSE(database.store({row_of(32)}));
  EXPECT_TRUE(database.lookup(test_key(32)).best);
  EXPECT_EQ(TuningDatabase(file).counts().rows, 1);
}

TEST(DegradedDatabase, AFileThatWasRemovedIsMadeAnew) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  TuningDatabase database(file);
  ASSERT_TRUE(database.store({row_of(64)}));
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(file + end);
  EXPECT_TRUE(database.store({row_of(32)}));
  EXPECT_TRUE(TuningDatabase(file).lookup(test_key(32)).best);
}

}  // namespace
}  // namespace tilewright::autotune::degraded_test
