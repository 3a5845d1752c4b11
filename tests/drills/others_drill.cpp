// Other processes that hold the database and do not go on: one that is stopped within a write, one
// that keeps the lock, a server that says nothing. They cost a process some seconds, once, and no
// result.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

constexpr double longest_wait_s = 25;  // six that are promised, and a slow machine's own work

// A run beside them gives its result, or reports that it could not store it.
void expect_bounded(const Command& command, bool needs_database) {
  Outcome outcome = run(command);
  expect_answer(outcome, 1 << 20);
  EXPECT_LT(outcome.wall_s, longest_wait_s) << outcome.text();
  if (needs_database) return;
  EXPECT_EQ(outcome.status, 0) << outcome.text();
  EXPECT_TRUE(has_said_ids(outcome)) << outcome.text();
}

struct Beside {
  Words words;
  bool needs_database;
};

Beside beside(std::uint64_t number) {
  Words tuned = generate_words();
  tuned.insert(tuned.end(), {"--mode", "max-autotune", "--tune-seconds", "0.2"});
  const Beside all[] = {{tuned, false},
                        {{"db", "import", "new.jsonl"}, true},
                        {tune_words(), true},
                        {{"db", "list"}, true}};
  return all[number % std::size(all)];
}

TEST(Others, WhoKeepTheLockAreNotWaitedForLong) {
  each_case(4, [](std::uint64_t number) {
    Workplace place;
    {
      autotune::HeldLock lock(place.path() / "tuning.db");
      ASSERT_TRUE(lock.is_held());
      Beside one = beside(number);
      expect_bounded(place.command(one.words), one.needs_database);
    }
    expect_usable(place.path());
  });
}

TEST(Others, WhoAreStoppedWithinAWriteAreNotWaitedForLong) {
  each_case(8, [](std::uint64_t number) {
    Workplace place;
    // An import of its own for a while, again and again: it is stopped somewhere within one.
    Command writing = place.command({});
    writing.words = {"/bin/sh", "-c", "while :; do \"$0\" db import new.jsonl >/dev/null; done",
                     writing.words[0]};
    Child writer(writing);
    writer.attend(0.05 + 0.013 * static_cast<double>(number));
    ::kill(-writer.pid(), SIGSTOP);
    Beside one = beside(number);
    expect_bounded(place.command(one.words), one.needs_database);
    writer.end_group();
    writer.wait();
    expect_usable(place.path());
  });
}

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
  std::string url() const { return concat("postgresql://u@127.0.0.1:", port_, "/x"); }

 private:
  int socket_, port_ = 0;
  bool is_there_ = false;
};

TEST(Others, ServersThatSayNothingAreNotWaitedForLong) {
  each_case(4, [](std::uint64_t number) {
    SilentServer server;
    ASSERT_TRUE(server.is_there());
    Workplace place;
    Beside one = beside(number);
    Command command = place.command(one.words);
    command.settings = {"TILEWRIGHT_TUNE_DB=" + server.url()};
    expect_bounded(command, one.needs_database);
  });
}

}  // namespace
}  // namespace tilewright::drills
