// The rules of the house that a machine can check: which room may include which, what public
// headers may show, how files begin and what they are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"
#include "tests/source_folder.h"

namespace tilewright::includes_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path root = source_folder();
const std::string umbrella = "include/tilewright/tilewright.h";

// The headers that a program sees which includes the umbrella.
std::set<std::string> public_headers() {
  std::set<std::string> seen;
  std::vector<std::string> to_visit{umbrella};
  while (!to_visit.empty()) {
    std::string path = to_visit.back();
    to_visit.pop_back();
    if (!seen.insert(path).second) continue;
    for (const Include& include : includes_of(read_source(path)))
      if (include.quoted) to_visit.push_back(include.name);
  }
  return seen;
}

TEST(House, TheTreeIsThere) {
  EXPECT_GT(sources().size(), 50U);
  EXPECT_GT(public_headers().size(), 10U);
}

TEST(House, NoRoomIncludesOneToItsRight) {
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    int rank = rank_of(file.room());
    if (rank < 0) continue;
    for (const Include& include : includes_of(file)) {
      int other = rank_of(include.name.substr(0, include.name.find('/')));
      if (include.quoted && other > rank) wrong.push_back(at(file, include.line) + include.name);
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// A family of ops, the passes, and the tests may grow by files; anything else above this wants a
// split.
constexpr int most_files_in_a_folder = 25;

TEST(House, NoFolderIsAHeap) {
  static const std::regex may_grow(R"(^(tests|examples|include)(/|$)|/(passes|ops|ops/[^/]+)$)");
  std::map<std::string, int> counts;
  for (const SourceFile& file : sources()) ++counts[folder_of(file.path)];
  std::vector<std::string> wrong;
  for (const auto& [folder, count] : counts)
    if (count > most_files_in_a_folder && !std::regex_search(folder, may_grow))
      wrong.push_back(folder + ": " + std::to_string(count) + " files");
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, EveryQuotedIncludeIsAFileFromTheRoot) {
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources())
    for (const Include& include : includes_of(file))
      if (include.quoted && !fs::exists(root / include.name))
        wrong.push_back(at(file, include.line) + include.name);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, PublicHeadersShowNoOutsideLibrary) {
  static const std::regex outside(
      R"(^(llvm|llvm-c|boost|range/v3|nlohmann|fmt|CLI|Eigen|pcre2\.h|utf8proc\.h|sqlite3\.h))");
  std::vector<std::string> wrong;
  for (const std::string& path : public_headers()) {
    SourceFile file = read_source(path);
    for (const Include& include : includes_of(file))
      if (std::regex_search(include.name, outside))
        wrong.push_back(at(file, include.line) + include.name);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// Each takes a twentieth or more of the time in which a program with the umbrella compiles.
TEST(House, PublicHeadersIncludeNoLongHeader) {
  const std::set<std::string> is_long = {
      "algorithm",    "charconv", "chrono",     "cmath",  "complex",       "condition_variable",
      "filesystem",   "format",   "fstream",    "future", "iomanip",       "iostream",
      "locale",       "mutex",    "numeric",    "random", "ranges",        "regex",
      "shared_mutex", "sstream",  "stop_token", "thread", "unordered_map", "unordered_set"};
  std::vector<std::string> wrong;
  for (const std::string& path : public_headers()) {
    SourceFile file = read_source(path);
    for (const Include& include : includes_of(file))
      if (is_long.contains(include.name)) wrong.push_back(at(file, include.line) + include.name);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// A member that points to an object of a class that is declared alone is an Owned
// (runtime/owned.h): each std::unique_ptr takes 5 ms of such a program's compilation.
TEST(House, MembersOfPublicClassesAreOwned) {
  static const std::regex member(R"(^ +std::unique_ptr<[^<>\[]+> [a-z_]+_;)");
  std::vector<std::string> wrong;
  for (const std::string& path : public_headers()) {
    SourceFile file = read_source(path);
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_search(file.lines[i], member))
        wrong.push_back(at(file, i + 1) + file.lines[i]);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, EachOutsideLibraryStandsBehindItsWall) {
  struct Wall {
    const char* library;
    std::vector<std::string> folders;
  };
  const std::vector<Wall> walls = {
      {"llvm/", {"dsl/codegen/", "tests/"}},
      {"boost/", {"graph/", "tests/"}},
      {"Eigen/", {"graph/functions/linear_algebra/dense/"}},
      {"CLI/", {"tools/"}},
      {"fmt/", {"tools/"}},
      {"pcre2.h", {"models/tokenizer/text/regex.cpp"}},
      {"minizip/", {"models/exported/archive.cpp"}},
      {"zlib.h", {"models/exported/archive.cpp", "tests/models/"}},
      {"utf8proc.h", {"models/tokenizer/text/unicode.cpp"}},
      {"sqlite3.h", {"autotune/database/sql/sqlite_connection.cpp", "tests/autotune/"}},
      {"nlohmann/", {"autotune/database/row_json.cpp", "models/", "tools/", "tests/"}}};
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources())
    for (const Include& include : includes_of(file))
      for (const Wall& wall : walls) {
        auto inside = [&](const std::string& folder) { return file.path.starts_with(folder); };
        if (include.name.starts_with(wall.library) &&
            std::none_of(wall.folders.begin(), wall.folders.end(), inside))
          wrong.push_back(at(file, include.line) + include.name);
      }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, EveryHeaderBeginsWithAParagraphAndIsIncludedOnce) {
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    if (!file.ends_with(".h")) continue;
    if (file.lines.empty() || !file.lines[0].starts_with("// "))
      wrong.push_back(file.path + ": does not begin with a comment");
    if (std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end())
      wrong.push_back(file.path + ": has no #pragma once");
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, NothingIsLeftToDoInComments) {
  // Written in two halves, so that this file does not hold the words it looks for.
  const std::vector<std::string> marks = {std::string("TO") + "DO", std::string("FIX") + "ME"};
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources())
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      for (const std::string& mark : marks)
        if (file.lines[i].find(mark) != std::string::npos)
          wrong.push_back(at(file, i + 1) + file.lines[i]);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, FilesAreNamedAfterAConcept) {
  static const std::regex vague(
      R"(^(utils?|helpers?|common|misc|manager|handler|impl|base)(_test)?$|[0-9]$)");
  static const std::set<std::string> names_of_the_field = {
      "gpt2",        "gpt2_test",         "utf8",       "utf8_test", "tf32", "float8",
      "float8_test", "arithmetic_float8", "emit_float8"};
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    std::string stem = fs::path(file.path).stem();
    if (std::regex_search(stem, vague) && !names_of_the_field.contains(stem))
      wrong.push_back(file.path);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// The special properties of an op that fusion does not see through are in its lowering. The task
// maker knows when there is nothing to compute, one pass makes attention of what was written out,
// and one reads its masks. A switch over all kinds names each.
TEST(House, OnlyItsLoweringKnowsAttention) {
  std::vector<std::string> wrong;
  bool is_found = false;
  for (const SourceFile& file : sources()) {
    if (file.room() != "graph" || file.path.starts_with("graph/ops/") ||
        file.path.starts_with("graph/ir/") || file.path.starts_with("graph/functions/") ||
        file.path == "graph/regions/making/make_tasks.cpp" ||
        file.path == "graph/passes/form_attention.cpp" ||
        file.path == "graph/passes/place_masks.cpp")
      continue;
    bool is_lowering = file.path.starts_with("graph/lower/attention/");
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      for (const std::string name : {"Op::attention", "Kind::attention", "attention_shape.h"}) {
        if (file.lines[i].find(name) == std::string::npos) continue;
        if (file.lines[i].ends_with("case Kind::attention:")) continue;
        is_found |= is_lowering;
        if (!is_lowering) wrong.push_back(at(file, i + 1) + file.lines[i]);
      }
  }
  EXPECT_TRUE(is_found);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, OnlyTheTableOfVariablesReadsTheEnvironment) {
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    if (rank_of(file.room()) < 0 || file.path == "runtime/base/env.cpp") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      if (file.lines[i].find("getenv(") != std::string::npos)
        wrong.push_back(at(file, i + 1) + file.lines[i]);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, EveryRoomWithSourcesSaysWhatItIs) {
  std::vector<std::string> wrong;
  for (const char* room : rooms) {
    bool has_sources = std::any_of(sources().begin(), sources().end(),
                                   [&](const SourceFile& file) { return file.room() == room; });
    if (has_sources && !fs::exists(root / room / "README.md")) wrong.emplace_back(room);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace tilewright::includes_test
