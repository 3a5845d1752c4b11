// One process makes an entry; others wait for it, but never for a dead or a stopped one.
#include "runtime/kept/entry_turn.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/kept/entry_store.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::entry_turn_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

pid_t in_a_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  work();
  _exit(0);
}

class EntryTurns : public testing::Test {
 protected:
  fs::path turn_file() const { return folder_.path() / "entry.turn"; }
  ScratchFolder folder_;
};

TEST_F(EntryTurns, EachEntryIsMadeByOneOfManyProcesses) {
  Setting cache("TILEWRIGHT_CACHE_DIR", folder_.path().c_str());
  constexpr int processes = 12, entries = 8;
  const fs::path made = folder_.path() / "made";
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i)
    children.push_back(in_a_child([&] {
      for (int entry = 0; entry < entries; ++entry) {
        const EntryKey key = EntryKey().add("number", entry);
        if (!host_objects.find(key).empty()) continue;
        const EntryTurn turn = host_objects.turn(key);
        if (!host_objects.find(key).empty()) continue;
        std::ofstream(made, std::ios::app) << entry << '\n' << std::flush;
        std::this_thread::sleep_for(5ms);
        host_objects.keep(key, "an entry", std::vector<char>(100, 'x'));
      }
    }));
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  int count = 0;
  std::ifstream lines(made);
  for (std::string line; std::getline(lines, line);) ++count;
  EXPECT_EQ(count, entries);
  for (const auto& file : fs::directory_iterator(folder_.path() / "host"))
    EXPECT_NE(file.path().extension(), EntryTurn::extension) << file;
}

TEST_F(EntryTurns, AreFreeOnceTheirProcessIsKilled) {
  const pid_t child = in_a_child([&] {
    EntryTurn turn(turn_file());
    std::ofstream(folder_.path() / "taken");
    pause();
  });
  while (!fs::exists(folder_.path() / "taken")) std::this_thread::sleep_for(1ms);
  std::thread killer([&] {
    std::this_thread::sleep_for(20ms);
    kill(child, SIGKILL);
  });
  const auto begin = Clock::now();
  EntryTurn turn(turn_file(), 30s);
  EXPECT_LT(Clock::now() - begin, 25s);
  killer.join();
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), child) << "the turn came before its process ended";
}

TEST_F(EntryTurns, AreNotWaitedForBeyondALimit) {
  EntryTurn first(turn_file());
  const auto begin = Clock::now();
  { EntryTurn second(turn_file(), 30ms); }
  EXPECT_GE(Clock::now() - begin, 30ms);
  EXPECT_TRUE(fs::exists(turn_file())) << "the second had no turn to end";
}

TEST_F(EntryTurns, EndInAProcessThatForkedMeanwhile) {
  auto turn = std::make_unique<EntryTurn>(turn_file());
  const pid_t child = in_a_child([] { pause(); });
  Clock::duration waited{};
  std::thread waiting([&] {
    const auto begin = Clock::now();
    EntryTurn second(turn_file(), 20s);
    waited = Clock::now() - begin;
  });
  std::this_thread::sleep_for(20ms);
  turn.reset();
  waiting.join();
  EXPECT_LT(waited, 15s);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(EntryTurns, AreEverybodysWhereNoFileCanBe) {
  const auto begin = Clock::now();
  EntryTurn nowhere({}), again({}), missing(folder_.path() / "no" / "folder" / "a.turn");
  EXPECT_LT(Clock::now() - begin, 5s);
}

}  // namespace
}  // namespace tilewright::entry_turn_test
