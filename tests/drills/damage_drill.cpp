// Database files with lost or changed parts: no crash, no row with other numbers, and a message
// about the missing parts.
#include <gtest/gtest.h>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/tuned_file.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page_bytes = 4096;

const Rows& rows() {
  static const Rows made = batch_of_rows(0, 60);
  return made;
}

const std::string& whole_file() {
  static const std::string bytes = [] {
    ScratchFolder folder;
    make_database(folder.path() / "tuning.db", rows());
    return read_file(folder.path() / "tuning.db");
  }();
  return bytes;
}

void scatter(std::string& bytes, std::size_t at, Chance& chance) {
  for (std::size_t i = 0, count = 1 + chance.below(64); i < count && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<char>(chance.below(256));
}

// Damage that disks, file systems, interrupted copies and other programs do to a file.
std::string damaged(std::uint64_t number) {
  Chance chance(number);
  std::string bytes = whole_file();
  std::size_t pages = bytes.size() / page_bytes;
  std::size_t at = chance.below(bytes.size()), page = chance.below(pages) * page_bytes;
  switch (number % 8) {
    case 0: scatter(bytes, at, chance); break;
    case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << chance.below(8))); break;
    case 2: bytes.replace(page, page_bytes, std::string(page_bytes, '\0')); break;
    case 3:
      bytes.replace(page, page_bytes, bytes.substr(chance.below(pages) * page_bytes, page_bytes));
      break;
    case 4: bytes.resize(at); break;
    case 5: scatter(bytes, chance.below(200), chance); break;  // the header and the schema
    case 6: bytes.replace(page, page_bytes, std::string(page_bytes, '\xff')); break;
    default:
      for (int i = 0; i < 20; ++i) scatter(bytes, chance.below(bytes.size()), chance);
  }
  return bytes;
}

const Lines& right_lines() {
  static const Lines made = lines_of(rows());
  return made;
}

// Every command reads a copy of its own: one that mends would help the next.
TEST(DamagedFiles, CrashNoCommandAndGiveNoOtherNumbers) {
  const std::vector<std::vector<std::string>> commands = {
      {"list"}, {"show"}, {"best"}, {"stats"}, {"verify"}, {"export", "out.jsonl"}};
  each_case(320, [&](std::uint64_t number) {
    ScratchFolder folder;
    std::string bytes = damaged(number);
    for (std::vector<std::string> words : commands) {
      folder.write("tuning.db", bytes);
      words.insert(words.begin(), "db");
      words.insert(words.end(), {"--db", "tuning.db"});
      Outcome outcome = run(tilewright_command(folder.path(), words));
      expect_answer(outcome, static_cast<std::int64_t>(bytes.size()));
      fs::remove(folder.path() / "tuning.db");
    }
    folder.write("tuning.db", bytes);
    Outcome merged =
        run(tilewright_command(folder.path(), {"db", "merge", "tuning.db", "--db", "into.db"}));
    expect_answer(merged, static_cast<std::int64_t>(bytes.size()));
    Lines lines =
        fs::exists(folder.path() / "into.db") ? lines_in(folder.path() / "into.db") : Lines();
    EXPECT_TRUE(includes_all(right_lines(), lines)) << "a row has other numbers";
    if (lines != right_lines()) {
      EXPECT_EQ(merged.status, 1) << "rows are missing: " << merged.text();
    }
  });
}

TEST(DamagedFiles, AreRightAfterOneRepair) {
  each_case(120, [](std::uint64_t number) {
    ScratchFolder folder;
    std::string bytes = damaged(1000 + number);
    folder.write("tuning.db", bytes);
    Command repair =
        tilewright_command(folder.path(), {"db", "verify", "--repair", "--db", "tuning.db"});
    auto size = static_cast<std::int64_t>(bytes.size());
    Command merge =
        tilewright_command(folder.path(), {"db", "merge", "tuning.db", "--db", "into.db"});
    run(merge);
    Lines readable =
        fs::exists(folder.path() / "into.db") ? lines_in(folder.path() / "into.db") : Lines();
    Outcome first = run(repair), second = run(repair);
    expect_answer(first, size);
    expect_answer(second, size);
    // A file that names another program or a later version as its maker is left alone, with a word.
    if (first.status == 1 && read_file(folder.path() / "tuning.db") == bytes) return;
    EXPECT_EQ(second.status, 0) << first.text() << "\n" << second.text();
    Lines repaired = lines_in(folder.path() / "tuning.db");
    EXPECT_TRUE(includes_all(right_lines(), repaired));
    EXPECT_TRUE(includes_all(repaired, readable)) << "it lost rows that could be read";
  });
}

}  // namespace
}  // namespace tilewright::drills
