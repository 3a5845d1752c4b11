// Calls of the system that fail: the n-th open, read, write, sync, rename or mmap of a run, once or
// from then on, and disks that are full. A run then ends with 1 and a sentence, or gives what it
// gives otherwise; the database is as usable after it as before, and is never moved away.
#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/preload.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

namespace fs = std::filesystem;

// A command, and what is there once it says that it did what it was asked.
struct Task {
  const char* name;
  std::vector<std::string> words;
  bool (*is_done)(const fs::path& folder, const Outcome& outcome);
};

bool has_all_rows(const fs::path& folder, const Outcome&) {
  return lines_in(folder / "tuning.db") == all_lines();
}

bool has_made_other(const fs::path& folder, const Outcome&) {
  return lines_in(folder / "other.db") == lines_of(old_rows());
}

bool has_whole_export(const fs::path& folder, const Outcome&) {
  std::string text = read_file(folder / "out.jsonl");
  for (const std::string& line : lines_of(old_rows()))
    if (text.find(line) == std::string::npos) return false;
  return true;
}

bool has_page(const fs::path& folder, const Outcome&) {
  return read_file(folder / "page.html").ends_with("</body></html>\n");
}

bool has_generated(const fs::path&, const Outcome& outcome) { return has_said_ids(outcome); }

bool has_listed(const fs::path&, const Outcome& outcome) {
  return std::ranges::count(outcome.out, '\n') == 2 + 12;  // a head, and a line a question
}

bool has_counted(const fs::path&, const Outcome& outcome) {
  return outcome.out.find("\nrows,60\n") != std::string::npos;
}

bool has_verified(const fs::path&, const Outcome& outcome) {
  return outcome.out.find(": 60 rows are right, 0 are not\n") != std::string::npos;
}

bool has_tuned(const fs::path& folder, const Outcome&) {
  return lines_in(folder / "tuning.db").size() > old_rows().size();
}

const std::vector<Task>& tasks() {
  static const std::vector<Task> all = {
      {"import", {"db", "import", "new.jsonl"}, has_all_rows},
      {"merge", {"db", "merge", "new.db"}, has_all_rows},
      {"create", {"db", "merge", "tuning.db", "--db", "other.db"}, has_made_other},
      {"export", {"db", "export", "out.jsonl"}, has_whole_export},
      {"report", {"db", "report", "--out", "page.html"}, has_page},
      {"list", {"db", "list"}, has_listed},
      {"stats", {"db", "stats", "--format", "csv"}, has_counted},
      {"verify", {"db", "verify"}, has_verified},
      {"generate", generate_words(), has_generated},
      {"tune", tune_words(), has_tuned},
  };
  return all;
}

void expect_done_or_told(const Task& task, const fs::path& folder, const Outcome& outcome) {
  expect_answer(outcome, 1 << 20);
  if (outcome.status == 0) {
    EXPECT_TRUE(task.is_done(folder, outcome))
        << task.name << " says that all is well: " << outcome.text();
  }
  if (outcome.status == 0 || task.is_done != has_whole_export) return;
  EXPECT_EQ(read_file(folder / "out.jsonl"), last_export);
}

struct Fault {
  const char* call;
  int error;
};
constexpr Fault faults[] = {{"open", EIO},    {"open", EMFILE}, {"open", EROFS},   {"open", EACCES},
                            {"read", EIO},    {"write", EIO},   {"write", ENOSPC}, {"sync", EIO},
                            {"sync", ENOSPC}, {"rename", EIO},  {"rename", EROFS}, {"mmap", EIO},
                            {"mmap", ENOMEM}};

// How many such calls the task makes when nothing fails, counted once.
long usual_calls(std::size_t task, const std::string& call) {
  static std::map<std::pair<std::size_t, std::string>, long> known;
  auto [entry, is_new] = known.try_emplace({task, call}, 0);
  if (!is_new) return entry->second;
  Workplace place;
  return entry->second = calls_of(place.command(tasks()[task].words), call);
}

TEST(FailingCalls, AreToldOrChangeNothing) {
  each_case(1300, [](std::uint64_t number) {
    Chance chance(number);
    std::size_t which = number % tasks().size();
    const Fault& fault = faults[number / tasks().size() % std::size(faults)];
    auto usual = static_cast<std::uint64_t>(std::max(1L, usual_calls(which, fault.call)));
    std::string text = concat(fault.call, " ", 1 + chance.below(usual), " ", fault.error,
                              chance.below(2) == 0 ? " once" : " on");
    SCOPED_TRACE(concat(tasks()[which].name, ", ", text));
    Workplace place;
    Outcome outcome = run(with_fault(place.command(tasks()[which].words), text));
    expect_done_or_told(tasks()[which], place.path(), outcome);
    expect_usable(place.path());
  });
}

// A single error of a disk is no damage, at whichever call of whichever command.
TEST(FailingCalls, OfReadingLeaveAHealthyDatabaseWhereItIs) {
  each_case(177, [](std::uint64_t number) {
    constexpr std::size_t of_databases = 8;
    std::size_t which = number % of_databases;
    const char* call = number / of_databases % 2 == 0 ? "read" : "open";
    auto usual = static_cast<std::uint64_t>(std::max(1L, usual_calls(which, call)));
    std::string text = concat(call, " ", 1 + number / of_databases / 2 % usual, " ", EIO, " once");
    SCOPED_TRACE(concat(tasks()[which].name, ", ", text));
    Workplace place;
    Outcome outcome = run(with_fault(place.command(tasks()[which].words), text));
    expect_done_or_told(tasks()[which], place.path(), outcome);
    expect_usable(place.path());
  });
}

TEST(FullDisks, OfAnyRoomAreToldOrChangeNothing) {
  each_case(9 + 50, [](std::uint64_t number) {
    // Each command with no room at all, then imports with more and more.
    std::size_t which = number < 9 ? number : 0;
    std::uint64_t room = number < 9 ? 0 : (number - 9) * 4096;
    if (number == 8) which = tasks().size() - 1;
    SCOPED_TRACE(concat(tasks()[which].name, " with room for ", room, " bytes"));
    Workplace place;
    Outcome outcome = run(with_fault(place.command(tasks()[which].words), concat("room ", room)));
    expect_done_or_told(tasks()[which], place.path(), outcome);
    expect_usable(place.path());
  });
}

// In a process of its own, whose mounts go with it. 0: all is well; 77: no disk can be made.
int live_on_a_small_disk(const fs::path& folder, std::uint64_t filler_bytes) {
  bool has_disk = ::unshare(CLONE_NEWNS) == 0 &&
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
  if (!has_disk) return 77;
  Workplace::fill(folder);
  std::ofstream(folder / "filler") << std::string(filler_bytes, 'x');  // as much of it as fits
  const Task& import = tasks()[0];
  Outcome outcome = run(Workplace::command_in(folder, import.words));
  expect_done_or_told(import, folder, outcome);
  fs::remove(folder / "filler");
  expect_usable(folder);
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST(FullDisks, ThatAreRealLoseNothing) {
  Workplace made_before_any_child;
  each_case(20, [](std::uint64_t number) {
    ScratchFolder folder;
    pid_t child = ::fork();
    if (child == 0) ::_exit(live_on_a_small_disk(folder.path(), 300'000 + 40'000 * number));
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
      GTEST_SKIP() << "no small disk can be mounted here: it needs root";
    EXPECT_EQ(status, 0);
  });
}

}  // namespace
}  // namespace tilewright::drills
