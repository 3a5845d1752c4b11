// Many processes on one database, and processes that are killed while they write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <unordered_set>

#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::sharing_test {
namespace {

using testing::IsEmpty;

TuningRow row_of(std::int64_t rows, std::int64_t columns, double ns, std::int64_t date_ms) {
  return {test_key(), test_configuration(rows, columns), ok_observation({ns}, date_ms)};
}

// For process `who`: rows of its own, and rows that all processes write. 0: all went well.
int share(TuningDatabase database, int who, int turns) {
  for (int i = 0; i < turns; ++i) {
    TuningRow own = row_of(who + 1, i + 1, 100 + i, new_year_ms);
    TuningRow shared = row_of(1000, i % 5 + 1, 50 + who, new_year_ms + who);
    if (!database.store({shared, own})) return 1;
    if (!database.lookup(test_key()).best) return 2;
  }
  return database.diagnostics().failures == 0 ? 0 : 3;
}

TEST(SharedDatabase, ThirtyTwoProcessesWriteAndReadWithoutAnError) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  constexpr int processes = 32, turns = 10;
  std::vector<pid_t> children;
  for (int who = 0; who < processes; ++who)
    children.push_back(start([&, who] { return share(TuningDatabase(file), who, turns); }));
  for (pid_t child : children) EXPECT_EQ(end_of(child), 0);
  TuningDatabase database(file);
  EXPECT_EQ(database.counts().rows, processes * turns + 5);
  EXPECT_THAT(database.problems(), IsEmpty());
  EXPECT_EQ(database.lookup(test_key()).best->configuration.integer("rows"), 1000);
  for (const TuningRow& row : database.rows(test_key()))
    if (row.configuration.integer("rows") == 1000) {
      EXPECT_EQ(row.observations.front().date_ms, new_year_ms + processes - 1) << "the newest";
    }
}

// A process that opens a file while another makes its tables sees either none or a database of
// ours.
TEST(SharedDatabase, ManyProcessesOpenAFileThatIsNotThereYet) {
  for (int turn = 0; turn < 40; ++turn) {
    ScratchFolder folder;
    std::string file = folder.path() / "tuning.db";
    std::vector<pid_t> children;
    for (int who = 0; who < 8; ++who)
      children.push_back(start([&, who] { return share(TuningDatabase(file), who, 1); }));
    for (pid_t child : children) ASSERT_EQ(end_of(child), 0) << "turn " << turn;
  }
}

// As on a network file system.
TEST(SharedDatabase, ProcessesShareAFileWithoutALogToo) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  constexpr int processes = 8, turns = 10;
  std::vector<pid_t> children;
  for (int who = 0; who < processes; ++who)
    children.push_back(start([&, who] {
      try {
        Store store(open_sqlite(file, SqliteAccess::read_write, SqliteJournal::rollback));
        for (int i = 0; i < turns; ++i) {
          store.put({row_of(who + 1, i + 1, 100, new_year_ms)});
          if (store.best(test_key(), 1).empty()) return 2;
        }
        return 0;
      } catch (const SqlError&) {
        return 1;
      }
    }));
  for (pid_t child : children) EXPECT_EQ(end_of(child), 0);
  EXPECT_FALSE(std::filesystem::exists(file + "-wal"));
  EXPECT_EQ(TuningDatabase(file).counts().rows, processes * turns);
}

TEST(SharedDatabase, FileSystemsOfANetworkAreKnownByTheirNumbers) {
  EXPECT_TRUE(is_network_file_system_type(0x6969)) << "NFS";
  EXPECT_TRUE(is_network_file_system_type(0xff534d42)) << "CIFS";
  EXPECT_FALSE(is_network_file_system_type(0xef53)) << "ext4";
  EXPECT_FALSE(is_network_file_system(ScratchFolder().path()));
}

TEST(SharedDatabase, ThreadsShareOneObject) {
  ScratchFolder folder;
  TuningDatabase database(folder.path() / "tuning.db");
  std::vector<std::thread> threads;
  for (int who = 0; who < 8; ++who)
    threads.emplace_back([&, who] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(database.store({row_of(who + 1, i + 1, 100, new_year_ms)}));
        EXPECT_TRUE(database.lookup(test_key()).best);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(database.counts().rows, 160);
}

TEST(SharedDatabase, AChildAfterForkLeavesItsParentsDatabaseAlone) {
  ScratchFolder folder;
  TuningDatabase database(folder.path() / "tuning.db");
  ASSERT_TRUE(database.store({row_of(1, 1, 100, new_year_ms)}));
  pid_t child = start([&] {
    if (database.lookup(test_key()).best || database.store({row_of(2, 1, 100, new_year_ms)}))
      return 1;
    if (!database.lookup(test_key()).best) return 2;  // what it stored itself, in memory
    TuningDatabase own(folder.path() / "tuning.db");
    return own.store({row_of(3, 1, 100, new_year_ms)}) ? 0 : 3;
  });
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(database.store({row_of(4, 1, 100, new_year_ms)}));
  EXPECT_EQ(database.counts().rows, 3);
  EXPECT_THAT(database.problems(), IsEmpty());
}

// A writer that reports on the pipe which rows were acknowledged.
int write_until_killed(const std::string& file, std::int64_t round, int pipe) {
  TuningDatabase database(file);
  for (std::int64_t i = 1;; ++i) {
    std::int64_t id = round << 20 | i;
    if (!database.store({row_of(id, 1, 100, new_year_ms)})) return 1;
    if (::write(pipe, &id, sizeof id) != sizeof id) return 2;
  }
}

TEST(KilledWriters, NoRowThatWasAcknowledgedIsLost) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  constexpr int rounds = 100, writers = 2;
  std::uint64_t random = 1;
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  std::vector<std::int64_t> acknowledged;
  for (int round = 0; round < rounds; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < writers; ++i)
      children.push_back(
          start([&] { return write_until_killed(file, round * writers + i + 1, pipes[1]); }));
    // From before the file is opened to after a few rows.
    std::this_thread::sleep_for(std::chrono::microseconds(next_random(random) % 30'000));
    for (pid_t child : children) ::kill(child, SIGKILL);
    for (pid_t child : children) ASSERT_EQ(end_of(child), 128 + SIGKILL);
    std::int64_t none = 0;
    ASSERT_EQ(::write(pipes[1], &none, sizeof none), static_cast<ssize_t>(sizeof none));
    for (std::int64_t id = -1; id != 0;) {
      ASSERT_EQ(::read(pipes[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
      if (id != 0) acknowledged.push_back(id);
    }
  }
  TuningDatabase database(file);
  EXPECT_THAT(database.problems(), IsEmpty());
  std::unordered_set<std::int64_t> kept;
  for (const TuningRow& row : database.rows(test_key()))
    kept.insert(row.configuration.integer("rows").value_or(0));
  EXPECT_GT(acknowledged.size(), 100U);
  for (std::int64_t id : acknowledged) EXPECT_TRUE(kept.contains(id)) << id;
  EXPECT_EQ(database.diagnostics().failures + database.diagnostics().rejected_rows, 0);
}

}  // namespace
}  // namespace tilewright::autotune::sharing_test
