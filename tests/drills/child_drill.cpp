// Tests the measuring of drills, without which a drill could not fail.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::drills {
namespace {

Command shell(const ScratchFolder& folder, const std::string& script) {
  Command command;
  command.words = {"/bin/sh", "-c", script};
  command.folder = folder.path();
  return command;
}

TEST(Children, AreRunByTheirNameAndSayWhatTheySay) {
  ScratchFolder folder;
  Outcome version = run(tilewright_command(folder.path(), {"--version"}));
  EXPECT_EQ(version.out, "tilewright 0.1.0\n");
  expect_answer(version);
}

TEST(Children, EndBySignalsThatAreTold) {
  ScratchFolder folder;
  Outcome aborted = run(shell(folder, "echo said >&2; kill -ABRT $$"));
  EXPECT_EQ(aborted.signal, SIGABRT);
  EXPECT_EQ(aborted.status, 128 + SIGABRT);
  EXPECT_EQ(aborted.err, "said\n");
  EXPECT_NONFATAL_FAILURE(expect_orderly(aborted), "status 134");
}

TEST(Children, AreEndedWhereTheyAreLate) {
  ScratchFolder folder;
  Command slow = shell(folder, "sleep 50");
  slow.wall_s = 0.2;
  Outcome outcome = run(slow);
  EXPECT_TRUE(outcome.is_hung());
  EXPECT_LT(outcome.wall_s, 10);
}

TEST(Children, SeeNothingButTheirOwnSettingsAndStreams) {
  ScratchFolder folder;
  Setting ours("TILEWRIGHT_TUNE", "off");
  Command command =
      shell(folder, "echo \"$HOME,$TILEWRIGHT_TUNE,$A,$TILEWRIGHT_THREADS\"; pwd; cat");
  command.settings = {"A=1", "TILEWRIGHT_THREADS"};
  command.in = folder.write("in", "read").string();
  std::string place = folder.path().string();
  EXPECT_EQ(run(command).out, place + ",,1,\n" + place + "\nread");
  command.out = (folder.path() / "out").string();
  EXPECT_EQ(run(command).out, "");
  EXPECT_EQ(read_file(folder.path() / "out"), place + ",,1,\n" + place + "\nread");
}

TEST(Children, AreLimited) {
  ScratchFolder folder;
  Command command = shell(folder, "ulimit -n; ulimit -c");
  command.limits = {{RLIMIT_NOFILE, 17}};
  EXPECT_EQ(run(command).out, "17\n0\n");
}

TEST(Cases, AreATenthOrAllOrOne) {
  Setting seed("TILEWRIGHT_SEED", nullptr);
  Setting share("TILEWRIGHT_DRILLS", nullptr);
  EXPECT_EQ(cases_of_drill(212).size(), 22u);
  EXPECT_EQ(cases_of_drill(3).size(), 1u);
  EXPECT_EQ(cases_of_drill(212), cases_of_drill(212));
  Setting all("TILEWRIGHT_DRILLS", "all");
  EXPECT_EQ(cases_of_drill(212).size(), 212u);
  Setting one("TILEWRIGHT_SEED", "17");
  EXPECT_EQ(cases_of_drill(212), std::vector<std::uint64_t>{17});
}

}  // namespace
}  // namespace tilewright::drills
