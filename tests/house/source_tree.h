// The sources of this tree as the tests of the house read them: files by lines, and what they
// include.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// From left to right: a room sees those before it. Tests and examples see all.
inline constexpr std::array rooms = {"runtime", "dsl", "autotune", "graph", "models", "tools"};

struct SourceFile {
  std::string path;  // from the root, with /
  std::vector<std::string> lines;
  std::string room() const { return path.substr(0, path.find('/')); }
  bool ends_with(std::string_view end) const { return path.ends_with(end); }
};

// A file by its path from the root.
SourceFile read_source(const std::string& path);
// Every source, header and table of the rooms, the tests, the examples and the public header.
const std::vector<SourceFile>& sources();

struct Include {
  std::string name;
  bool quoted;
  std::size_t line;
};
std::vector<Include> includes_of(const SourceFile& file);

// The room's place from the left; -1 of what is in none.
int rank_of(const std::string& room);
// The folder of a path: "graph/ir" of "graph/ir/op.h".
std::string folder_of(const std::string& path);
// "graph/ir/op.h:12: ", to begin a complaint with.
std::string at(const SourceFile& file, std::size_t line);

}  // namespace tilewright
