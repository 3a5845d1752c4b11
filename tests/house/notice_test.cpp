// NOTICE names every library that the build asks for, with its licence, or says that nothing of it
// is in what is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/source_folder.h"

namespace tilewright::notice_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
const fs::path root = source_folder();

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The libraries that the rooms' and the build's files find: packages, and archives that are linked
// statically.
std::set<std::string> libraries_of_the_build() {
  std::set<std::string> found;
  std::regex form(R"((?:find_package\(|tilewright_static_library\(\S+ )([\w-]+))");
  std::vector<fs::path> files;
  for (const char* room : {"runtime", "dsl", "autotune", "graph", "models", "tools"})
    files.push_back(root / room / "CMakeLists.txt");
  for (const auto& entry : fs::directory_iterator(root / "cmake"))
    if (entry.path().extension() == ".cmake") files.push_back(entry.path());
  for (const fs::path& file : files) {
    std::string text = text_of(file);
    for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i)
      found.insert((*i)[1]);
  }
  found.erase("Threads");  // of the system's C library
  found.erase("target");   // the function's own parameter
  return found;
}

TEST(Notice, NamesEveryLibraryThatTheBuildAsksFor) {
  const std::map<std::string, std::string> names = {
      {"LLVM", "LLVM"},         {"sqlite3", "SQLite"}, {"z", "zlib"},
      {"zstd", "Zstandard"},    {"fmt", "fmt"},        {"nlohmann_json", "JSON for Modern C++"},
      {"CLI11", "CLI11"},       {"pcre2-8", "PCRE2"},  {"PCRE2", "PCRE2"},
      {"utf8proc", "utf8proc"}, {"Boost", "Boost"},    {"range-v3", "range-v3"},
      {"minizip", "minizip"},   {"Eigen3", "Eigen"}};
  std::string notice = text_of(root / "NOTICE");
  std::set<std::string> libraries = libraries_of_the_build();
  EXPECT_GE(libraries.size(), 8U);
  std::set<std::string> missing;
  for (const std::string& library : libraries) {
    auto name = names.find(library);
    if (name == names.end() || notice.find(name->second) == notice.npos) missing.insert(library);
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Notice, HasTheLicenceOfEachOfItsRows) {
  std::string notice = text_of(root / "NOTICE");
  std::regex row(R"(\n\| ([^|]+) \| (?:library|command)[^\n]*)");
  int rows = 0;
  for (std::sregex_iterator i(notice.begin(), notice.end(), row), end; i != end; ++i, ++rows) {
    std::string name = (*i)[1];
    EXPECT_NE(notice.find("\n" + name + "\n" + std::string(name.size(), '-') + "\n"), notice.npos)
        << name;
  }
  EXPECT_EQ(rows, 13);
}

}  // namespace
}  // namespace tilewright::notice_test
