// Places in which a database or an output cannot be, or should not be: without rights, of others,
// through links, in what is no file. Each run ends with a word, keeps what it says that it keeps,
// and replaces nothing that is no regular file of its user's.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

namespace fs = std::filesystem;
using Setting = std::function<void(const Workplace& place, Command& command)>;

// The required outcome of the run.
enum class End {
  done,       // 0, and what was asked for is done
  refused,    // 1 or 2, with a sentence, and nothing has changed
  either,     // the one or the other, depending on the user
  continued,  // the command needs no database, and gives its result
};

struct DatabasePlace {
  const char* name;
  Words words;
  Setting arrange;
  End end;
};

Setting database(const std::string& where) {
  return [where](const Workplace&, Command& command) {
    command.settings = {"TILEWRIGHT_TUNE_DB=" + where};
  };
}

Setting as_nobody(fs::perms folder, fs::perms file) {
  return [=](const Workplace& place, Command& command) {
    fs::permissions(place.path() / "tuning.db", file);
    fs::permissions(place.path() / "new.jsonl", fs::perms(0644));
    fs::permissions(place.path(), folder);
    command.is_nobody = ::geteuid() == 0;
  };
}

void unset_home(const Workplace&, Command& command) {
  command.settings = {"HOME", "TILEWRIGHT_TUNE_DB"};
}

Setting cache_dir(const std::string& value) {
  return [value](const Workplace&, Command& command) {
    command.settings = {"TILEWRIGHT_CACHE_DIR=" + value};
  };
}

void make_cache_of_all(const Workplace& place, Command& command) {
  fs::create_directory(place.path() / "cache");
  fs::permissions(place.path() / "cache", fs::perms(0777));
  command.settings = {"TILEWRIGHT_CACHE_DIR=" + (place.path() / "cache").string()};
}

void make_cache_in_shared(const Workplace& place, Command& command) {
  fs::create_directories(place.path() / "shared/cache");
  fs::permissions(place.path() / "shared", fs::perms(0777));
  fs::permissions(place.path() / "shared/cache", fs::perms(0700));
  command.settings = {"TILEWRIGHT_CACHE_DIR=" + (place.path() / "shared/cache").string()};
}

void make_cache_in_sticky(const Workplace& place, Command& command) {
  make_cache_in_shared(place, command);
  fs::permissions(place.path() / "shared", fs::perms(01777));
}

void make_cache_a_link(const Workplace& place, Command& command) {
  fs::create_directory(place.path() / "real");
  fs::create_directory_symlink(place.path() / "real", place.path() / "cache");
  command.settings = {"TILEWRIGHT_CACHE_DIR=" + (place.path() / "cache").string()};
}

void make_cache_of_another(const Workplace& place, Command& command) {
  make_cache_of_all(place, command);
  fs::permissions(place.path() / "cache", fs::perms(0755));
  (void)!::chown((place.path() / "cache").c_str(), 65534, 65534);
}

void make_database_a_link(const Workplace& place, Command&) {
  fs::rename(place.path() / "tuning.db", place.path() / "real.db");
  fs::create_symlink("real.db", place.path() / "tuning.db");
}

void make_out_a_pipe(const Workplace& place, Command&) {
  fs::remove(place.path() / "out.jsonl");
  ::mkfifo((place.path() / "out.jsonl").c_str(), 0600);
}

void make_out_a_link(const Workplace& place, Command&) {
  fs::rename(place.path() / "out.jsonl", place.path() / "real.jsonl");
  fs::create_symlink("real.jsonl", place.path() / "out.jsonl");
}

void make_input_a_pipe(const Workplace& place, Command&) {
  for (const char* name : {"new.jsonl", "new.db"}) {
    fs::remove(place.path() / name);
    ::mkfifo((place.path() / name).c_str(), 0600);
  }
}

void lock_input_away(const Workplace& place, Command& command) {
  as_nobody(fs::perms(0777), fs::perms(0666))(place, command);
  fs::permissions(place.path() / "new.jsonl", fs::perms(0000));
}

void nothing(const Workplace&, Command&) {}

const std::vector<DatabasePlace>& places() {
  const Words import = {"db", "import", "new.jsonl"}, list = {"db", "list"};
  const Words merge = {"db", "merge", "new.db"}, write = {"db", "export", "out.jsonl"};
  static const std::vector<DatabasePlace> all = {
      {"a file that may only be read", import, as_nobody(fs::perms(0755), fs::perms(0444)),
       End::refused},
      {"a file that may only be read, to look at", list,
       as_nobody(fs::perms(0755), fs::perms(0444)), End::done},
      {"a folder that may only be read", import, as_nobody(fs::perms(0555), fs::perms(0644)),
       End::refused},
      {"a file that may not be read", list, as_nobody(fs::perms(0755), fs::perms(0000)),
       End::refused},
      {"a file of another user", import, as_nobody(fs::perms(0777), fs::perms(0644)), End::refused},
      {"an export into a folder of others", write, as_nobody(fs::perms(0755), fs::perms(0644)),
       End::refused},
      {"an input without rights", import, lock_input_away, End::either},
      {"a cache that all may write", tune_words(), make_cache_of_all, End::refused},
      {"a cache in a folder of all", tune_words(), make_cache_in_shared, End::refused},
      {"a cache in a sticky folder", tune_words(), make_cache_in_sticky, End::done},
      {"a cache that is a link", tune_words(), make_cache_a_link, End::either},
      {"a cache of another user", tune_words(), make_cache_of_another, End::either},
      {"a cache that is off", tune_words(), cache_dir("off"), End::refused},
      {"a cache that is a file", tune_words(), cache_dir("new.jsonl"), End::refused},
      {"a cache in /proc", tune_words(), cache_dir("/proc/none"), End::refused},
      {"no HOME", tune_words(), unset_home, End::refused},
      {"no HOME, and nothing to keep", generate_words(), unset_home, End::continued},
      {"a cache in /proc, and nothing to keep", generate_words(), cache_dir("/proc/none"),
       End::continued},
      {"a database that is a link", import, make_database_a_link, End::either},
      {"an output that is a pipe", write, make_out_a_pipe, End::refused},
      {"an output that is a link", write, make_out_a_link, End::either},
      {"an output that is a folder", {"db", "export", "model"}, nothing, End::refused},
      {"an output that is a device", {"db", "export", "/dev/full"}, nothing, End::refused},
      {"an input that is a pipe", import, make_input_a_pipe, End::refused},
      {"a database to merge that is a pipe", merge, make_input_a_pipe, End::refused},
      {"an input that is /dev/zero", {"db", "import", "/dev/zero"}, nothing, End::refused},
      {"a database that is /dev/zero", list, database("/dev/zero"), End::refused},
      {"a database that is a folder", list, database("model"), End::refused},
      {"a database in no folder", import, database("none/none/tuning.db"), End::either},
      {"a URL of nothing", list, database("postgresql://"), End::refused},
      {"a URL of no port", list, database("postgresql://u@127.0.0.1:99999/x"), End::refused},
  };
  return all;
}

TEST(Places, GetAWordAndLoseNothing) {
  each_case(places().size(), [](std::uint64_t number) {
    const DatabasePlace& one = places()[number];
    SCOPED_TRACE(one.name);
    Workplace place;
    fs::permissions(place.path(), fs::perms(0755));
    Command command = place.command(one.words);
    one.arrange(place, command);
    Outcome outcome = run(command);
    fs::permissions(place.path(), fs::perms(0755));
    expect_answer(outcome, 1 << 20);
    if (one.end == End::done || one.end == End::continued) {
      EXPECT_EQ(outcome.status, 0) << outcome.text();
    }
    if (one.end == End::continued) {
      EXPECT_TRUE(has_said_ids(outcome)) << outcome.text();
    }
    if (one.end == End::refused) {
      EXPECT_NE(outcome.status, 0) << outcome.text();
      EXPECT_EQ(lines_in(place.path() / "tuning.db"), lines_of(old_rows()));
    }
    fs::path database = place.path() / "tuning.db";
    EXPECT_TRUE(includes_all(lines_in(database), lines_of(old_rows()))) << outcome.text();
    EXPECT_EQ(count_moved_away(place.path()), 0);
    if (one.arrange.target<void (*)(const Workplace&, Command&)>() == nullptr) return;
    if (*one.arrange.target<void (*)(const Workplace&, Command&)>() == make_out_a_pipe) {
      EXPECT_TRUE(fs::is_fifo(place.path() / "out.jsonl")) << "the pipe was replaced";
    }
  });
}

// A trace, a plan or a page goes to the pipe, the link's target or the device that is named, or the
// run says that it does not: none of them becomes a file.
TEST(Places, ThatAreNoFilesStayWhatTheyAre) {
  each_case(9, [](std::uint64_t number) {
    Workplace place;
    fs::path out = place.path() / "out";
    if (number % 3 == 0) ::mkfifo(out.c_str(), 0600);
    if (number % 3 == 1) place.write("last", "before");
    if (number % 3 == 1) fs::create_symlink("last", out);
    if (number % 3 == 2) fs::create_symlink("/dev/null", out);
    Words words = number / 3 == 2 ? Words{"db", "report", "--out", "out"} : generate_words();
    Command command = place.command(words);
    if (number / 3 == 0) command.settings.push_back("TILEWRIGHT_TRACE=" + out.string());
    if (number / 3 == 1) command.words.insert(command.words.end(), {"--write-plan", out.string()});
    fs::file_status before = fs::symlink_status(out);
    Outcome outcome = run(command);
    expect_answer(outcome, 1 << 20);
    EXPECT_EQ(fs::symlink_status(out).type(), before.type())
        << "it was replaced: " << outcome.text();
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    expect_usable(place.path());
  });
}

}  // namespace
}  // namespace tilewright::drills
