// How long files and lines are: the most that a file and a line may have, and the length that nine
// of ten files of each room keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "tests/house/source_tree.h"
#include "tests/source_folder.h"

namespace tilewright::file_lengths_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

// Sources, headers and scripts in a folder.
std::vector<SourceFile> code_of(const std::string& folder) {
  static const std::set<std::string> kinds = {".h", ".cpp", ".py", ".sh"};
  const fs::path root = source_folder();
  std::vector<SourceFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder))
    if (entry.is_regular_file() && kinds.contains(entry.path().extension()))
      files.push_back(read_source(fs::relative(entry.path(), root).generic_string()));
  return files;
}

const std::vector<std::string> rooms_with_tests = {"dsl",    "graph", "autotune", "runtime",
                                                   "models", "tests", "tools"};

TEST(House, FilesAreShortOrSayWhyNot) {
  constexpr std::size_t most_lines = 500;
  std::vector<std::string> wrong, folders = rooms_with_tests;
  folders.insert(folders.end(), {"examples", "include"});
  for (const std::string& folder : folders)
    for (const SourceFile& file : code_of(folder)) {
      if (file.lines.size() <= most_lines) continue;
      auto top = file.lines.begin() + 30;
      bool reason = std::any_of(file.lines.begin(), top, [](const std::string& line) {
        return line.find("Long because") != std::string::npos;
      });
      if (!reason) wrong.push_back(concat(file.path, ": ", file.lines.size(), " lines"));
    }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, NineOfTenFilesOfARoomAreShort) {
  constexpr std::size_t most_lines = 250, most_named = 10;
  std::vector<std::string> wrong;
  for (const std::string& room : rooms_with_tests) {
    std::vector<std::pair<std::size_t, std::string>> lengths;
    for (const SourceFile& file : code_of(room)) lengths.emplace_back(file.lines.size(), file.path);
    ASSERT_FALSE(lengths.empty()) << room;
    std::ranges::sort(lengths);
    const std::size_t percentile = lengths[(9 * lengths.size() + 9) / 10 - 1].first;
    if (percentile <= most_lines) continue;
    std::string text = concat(room, ": its 90th percentile is ", percentile, " lines, above ",
                              most_lines, "; the shortest files above are");
    auto above = std::ranges::upper_bound(lengths, most_lines, {},
                                          &std::pair<std::size_t, std::string>::first);
    for (std::size_t i = 0; i < most_named && above != lengths.end(); ++i, ++above)
      text += concat("\n  ", above->second, ": ", above->first);
    wrong.push_back(text);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, LinesAreAtMostAHundredColumns) {
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    if (file.ends_with(".def")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      auto columns = std::count_if(line.begin(), line.end(),
                                   [](unsigned char byte) { return (byte & 0xc0) != 0x80; });
      if (columns > 100) wrong.push_back(at(file, i + 1) + std::to_string(columns));
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace tilewright::file_lengths_test
