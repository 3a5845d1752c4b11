// Others that hold the database, or do not answer: they cost a process some seconds, once.
#include "autotune/database/sql/patience.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>

#include "autotune/database/sql/libpq.h"
#include "autotune/database/tuning_database.h"
#include "runtime/base/error.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::patience_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TuningRow row_of(std::int64_t rows) {
  return {test_key(rows), test_configuration(rows), ok_observation({100})};
}

template <typename F>
milliseconds time_of(F&& f) {
  auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

TEST(Patience, IsOfTheProcessAndWaitsThatEndWellCostNothing) {
  milliseconds before = Patience::left();
  Patience wait, other;
  EXPECT_TRUE(wait.sleep(milliseconds(2)));
  wait.take(seconds(1));
  EXPECT_EQ(Patience::left(), before - milliseconds(1002));
  wait.give_back();
  EXPECT_EQ(Patience::left(), before);
  other.take(seconds(100));
  EXPECT_EQ(Patience::left(), milliseconds(0));
  EXPECT_FALSE(wait.sleep(milliseconds(1)));
  other.give_back();
}

// Checks, in a process of its own, the behaviour while another process holds the file. 0: all does.
int live_beside_a_holder(const std::string& file) {
  testing::internal::CaptureStderr();
  std::optional<TuningDatabase> opened;
  bool is_stored = false;
  milliseconds first = time_of([&] { is_stored = opened.emplace(file).store({row_of(1)}); });
  TuningDatabase& database = *opened;
  if (is_stored || first < Patience::of_process / 2 || first > 5 * Patience::of_process) return 1;
  milliseconds later = time_of([&] {
    for (std::int64_t rows = 2; rows < 12; ++rows) is_stored |= database.store({row_of(rows)});
    TuningDatabase other(file);
    is_stored |= other.store({row_of(12)});
  });
  if (is_stored || later > Patience::of_process) return 2;
  if (!database.lookup(test_key(7)).best) return 3;
  std::string said = testing::internal::GetCapturedStderr();
  if (said.find("is held by others") == said.npos) return 4;
  return std::ranges::count(said, '\n') == 1 ? 0 : 5;
}

// Another process holds the lock; `spoil` is done to the file then, and says whether it was.
void expect_little_cost(const std::function<bool(const std::string& file)>& spoil) {
  ScratchFolder folder;
  std::string file = folder.path() / "tuning.db";
  ASSERT_TRUE(TuningDatabase(file).store({row_of(64)}));
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  char byte = 0;
  pid_t child = start([&] {
    if (::read(pipes[0], &byte, 1) != 1) return 9;
    return spoil(file) ? live_beside_a_holder(file) : 8;
  });
  HeldLock lock(file);
  ASSERT_TRUE(lock.is_held());
  ASSERT_EQ(::write(pipes[1], &byte, 1), 1);
  EXPECT_EQ(end_of(child), 0);
}

TEST(Patience, AProcessThatKeepsTheLockCostsSomeSecondsInAllAndOneLine) {
  expect_little_cost([](const std::string&) { return true; });
}

// A writer that was stopped while it changed the index of the log: the index's two copies differ.
// In a process of its own, since closing a file gives up all locks that its process has on it.
TEST(Patience, AProcessThatHasHalfWrittenTheLogsIndexCostsSomeSecondsInAllAndOneLine) {
  expect_little_cost([](const std::string& file) {
    constexpr int copy_bytes = 48;
    std::string copy(copy_bytes, '\0');
    std::fstream index(file + "-shm", std::ios::in | std::ios::out | std::ios::binary);
    index.seekg(copy_bytes).read(copy.data(), copy_bytes);
    for (char& c : copy) c = static_cast<char>(~c);
    return static_cast<bool>(index.seekp(copy_bytes).write(copy.data(), copy_bytes));
  });
}

// A server that accepts connections and says nothing.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    is_there_ = ::bind(socket_, any, bytes) == 0 && ::listen(socket_, 16) == 0 &&
                ::getsockname(socket_, any, &bytes) == 0;
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { ::close(socket_); }
  bool is_there() const { return is_there_; }
  std::string url(const std::string& options = "") const {
    return concat("postgresql://u@127.0.0.1:", port_, "/x", options);
  }

 private:
  int socket_, port_ = 0;
  bool is_there_ = false;
};

TEST(Patience, AServerThatIsSilentCostsSomeSecondsInAllAndOneLine) {
  SilentServer server;
  if (libpq() == nullptr || !server.is_there()) GTEST_SKIP() << "libpq.so.5 is not installed";
  pid_t child = start([&] {
    testing::internal::CaptureStderr();
    bool is_stored = false;
    milliseconds all = time_of([&] {
      TuningDatabase database(server.url());
      for (std::int64_t rows = 1; rows < 6; ++rows) is_stored |= database.store({row_of(rows)});
    });
    if (is_stored || all > 2 * Patience::of_process) return 1;
    std::string said = testing::internal::GetCapturedStderr();
    return said.find("does not answer") != said.npos ? 0 : 2;
  });
  EXPECT_EQ(end_of(child), 0);
}

TEST(Patience, TheTimeThatAUrlNamesIsKept) {
  SilentServer server;
  if (libpq() == nullptr || !server.is_there()) GTEST_SKIP() << "libpq.so.5 is not installed";
  pid_t child = start([&] {
    milliseconds one =
        time_of([&] { TuningDatabase(server.url("?connect_timeout=1"), Access::read); });
    return one >= milliseconds(900) && one < milliseconds(4000) ? 0 : 1;
  });
  EXPECT_EQ(end_of(child), 0);
}

}  // namespace
}  // namespace tilewright::autotune::patience_test
