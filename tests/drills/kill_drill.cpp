// The process ended by `kill -9` while it writes: nothing that was acknowledged is lost, the file
// is whole, and of a kernel that is tuned again there are the old rows or the new ones.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/preload.h"
#include "tests/drills/tuned_file.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

namespace fs = std::filesystem;

constexpr int files = 8;
const char* const kernel = "layer_norm of 768";

std::string file_name(int batch) { return "f" + std::to_string(batch) + ".jsonl"; }

Command tune_command(const fs::path& folder) {
  Command command =
      tilewright_command(folder, {"tune", "--keep", "--trials", "2", "--seconds", "2", "--rounds",
                                  "2", "--sample-seconds", "0.001", kernel});
  command.settings = {"TILEWRIGHT_TUNE_DB=" + (folder / "tuning.db").string()};
  return command;
}

// Made once: what each case begins with.
class Beginning {
 public:
  Beginning() {
    make_database(folder_.path() / "tuning.db", batch_of_rows(0, 20));
    Outcome tuned = run(tune_command(folder_.path()));
    EXPECT_EQ(tuned.status, 0) << tuned.text();
    for (int i = 1; i <= files; ++i) write_export(folder_.path() / file_name(i), batch_of_rows(i));
  }
  void copy_to(const fs::path& folder) const {
    fs::copy(folder_.path(), folder, fs::copy_options::recursive);
  }

 private:
  ScratchFolder folder_;
};

const Beginning& beginning() {
  static const Beginning made;
  return made;
}

bool has_tuned_rows(const Lines& lines) {
  return std::ranges::any_of(
      lines, [](const std::string& line) { return line.find(kernel) != std::string::npos; });
}

// Whole, never moved away, and with all of these.
void expect_whole(const fs::path& folder, const Rows& rows) {
  Outcome verified = run(tilewright_command(folder, {"db", "verify", "--db", "tuning.db"}));
  EXPECT_EQ(verified.status, 0) << verified.text();
  expect_orderly(verified);
  EXPECT_TRUE(includes_all(lines_in(folder / "tuning.db"), lines_of(rows)));
  EXPECT_EQ(count_moved_away(folder), 0);
}

// Imports file after file, and says which was taken.
Command imports(const fs::path& folder) {
  Command command;
  command.words = {"/bin/sh", "-c",
                   "for i in 1 2 3 4 5 6 7 8; do "
                   "\"$0\" db import --db tuning.db f$i.jsonl >/dev/null && echo $i; done",
                   tilewright_command(folder, {}).words[0]};
  command.folder = folder;
  return command;
}

TEST(Kills, LoseNoFileThatWasAcknowledged) {
  each_case(212, [](std::uint64_t number) {
    Chance chance(number);
    ScratchFolder folder;
    beginning().copy_to(folder.path());
    std::unique_ptr<Child> tuning;
    if (number % 3 == 0) tuning = std::make_unique<Child>(tune_command(folder.path()));
    Child importing(imports(folder.path()));
    double until_s = 1e-3 * static_cast<double>(chance.below(400));
    importing.attend(until_s);
    importing.end_group();
    if (tuning) tuning->attend(1e-3 * static_cast<double>(chance.below(300)));
    if (tuning) tuning->end_group();
    Rows kept = batch_of_rows(0, 20);
    std::istringstream acknowledged(importing.wait().out);
    for (int batch = 0; acknowledged >> batch;)
      for (autotune::TuningRow& row : batch_of_rows(batch)) kept.push_back(std::move(row));
    expect_whole(folder.path(), kept);
    EXPECT_TRUE(has_tuned_rows(lines_in(folder.path() / "tuning.db")));
  });
}

// Where the file, its tables or its log are only half there, the next process makes them whole.
TEST(Kills, InTheFirstCreationLeaveAPlaceThatCanBeUsed) {
  ScratchFolder first;
  write_export(first.path() / file_name(1), batch_of_rows(1));
  auto import = [](const fs::path& folder) {
    return tilewright_command(folder, {"db", "import", "--db", "tuning.db", file_name(1)});
  };
  double usual_s = run(import(first.path())).wall_s;
  each_case(80, [&](std::uint64_t number) {
    ScratchFolder folder;
    fs::copy_file(first.path() / file_name(1), folder.path() / file_name(1));
    Child importing(import(folder.path()));
    importing.attend(usual_s * static_cast<double>(number) / 80);
    importing.end_group();
    importing.wait();
    Outcome again = run(import(folder.path()));
    EXPECT_EQ(again.status, 0) << again.text();
    expect_whole(folder.path(), batch_of_rows(1));
  });
}

TEST(Kills, AtALogsWriteLeaveTheOldRowsOrTheNew) {
  each_case(40, [](std::uint64_t number) {
    ScratchFolder folder;
    beginning().copy_to(folder.path());
    // The first writes of the log are where the rows go; later ones are its summing up.
    std::string fault = "killlog " + std::to_string(1 + number % 10);
    Outcome killed = run(with_fault(tune_command(folder.path()), fault));
    EXPECT_TRUE(killed.signal == SIGKILL || killed.status == 0) << killed.text();
    if (number % 10 == 0) {
      EXPECT_EQ(killed.signal, SIGKILL) << "no log was written";
    }
    expect_whole(folder.path(), batch_of_rows(0, 20));
    EXPECT_TRUE(has_tuned_rows(lines_in(folder.path() / "tuning.db")));
  });
}

}  // namespace
}  // namespace tilewright::drills
