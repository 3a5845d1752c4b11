// The page of promises names only tests and files that there are. A test is named as gtest names
// it, Suite.Name, or as `ctest` would find it, in `-R '...'`: each alternative of such a pattern is
// part of the name of some test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/source_folder.h"

namespace tilewright::promises_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;
const fs::path root = source_folder();

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
}

// As CMake and gtest register them; `${...}` stands for anything.
std::set<std::string> registered_tests() {
  static const std::regex of_gtest(R"(\bTEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  static const std::regex of_ctest(R"re(add_test\(NAME\s+(?:"([^"]+)"|([^\s")]+)))re");
  static const std::regex on_devices(R"(tilewright_(?:quarters_)?on_devices\((\w+))");
  static const std::regex of_ptxas(R"(tilewright_ptxas\((\w+))");
  static const std::regex of_drills(R"(\ntilewright_drills\((\w+))");
  static const std::regex of_families(R"(foreach\(family ([\w ]+)\))");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    const fs::path& path = entry.path();
    const bool is_cmake = path.filename() == "CMakeLists.txt";
    if (!is_cmake && path.extension() != ".cpp") continue;
    const std::string text = text_of(path);
    if (!is_cmake) {
      for (const auto& m : matches(text, of_gtest)) names.insert(m.str(1) + "." + m.str(2));
      continue;
    }
    for (const auto& m : matches(text, of_ctest)) names.insert(m.str(1) + m.str(2));
    // Those that functions make are known by their calls.
    for (const char* made :
         {"${entry}", "ptxas of ${programs}", "drills: ${family}", "drills: ${family}, a tenth"})
      names.erase(made);
    for (const auto& m : matches(text, of_drills)) names.insert("drills: " + m.str(1));
    for (const auto& m : matches(text, of_families)) {
      std::istringstream families(m.str(1));
      for (std::string family; families >> family;) names.insert("drills: " + family);
    }
    for (const auto& m : matches(text, on_devices)) names.insert(m.str(1) + " on ${device}");
    for (const auto& m : matches(text, of_ptxas)) names.insert("ptxas of " + m.str(1));
  }
  return names;
}

bool is_part_of(const std::string& wanted, const std::string& name) {
  if (name.find(wanted) != std::string::npos) return true;
  if (name.find("${") == std::string::npos) return false;
  static const std::regex special(R"([.^$|()\[\]*+?\\])"), variable(R"(\$\{\w+\})");
  std::string pattern, rest = name;
  for (std::smatch m; std::regex_search(rest, m, variable); rest = m.suffix())
    pattern += std::regex_replace(m.prefix().str(), special, R"(\$&)") + ".+";
  pattern += std::regex_replace(rest, special, R"(\$&)");
  return std::regex_match(wanted, std::regex(pattern));
}

bool is_registered(const std::string& wanted) {
  static const std::set<std::string> names = registered_tests();
  return std::ranges::any_of(names, [&](const auto& name) { return is_part_of(wanted, name); });
}

// The tests that the page names; a pattern of ctest counts as its alternatives.
std::vector<std::string> tests_named_in(const std::string& page) {
  static const std::regex of_ctest(R"(-R '([^']+)')");
  static const std::regex of_gtest(R"(`([A-Z]\w+\.(?:\w+|\*))`)");
  std::vector<std::string> tests;
  for (const auto& m : matches(page, of_ctest)) {
    std::istringstream alternatives(m.str(1));
    for (std::string one; std::getline(alternatives, one, '|');) {
      std::erase(one, '\\');
      tests.push_back(one);
    }
  }
  for (const auto& m : matches(page, of_gtest)) {
    std::string name = m.str(1);
    if (name.ends_with('*')) name.pop_back();
    tests.push_back(name);
  }
  return tests;
}

TEST(Promises, NameTestsThatThereAre) {
  const std::vector<std::string> tests = tests_named_in(text_of(root / "docs/promises.md"));
  EXPECT_GT(tests.size(), 50U);
  std::vector<std::string> missing;
  std::ranges::copy_if(tests, std::back_inserter(missing),
                       [](const auto& name) { return !is_registered(name); });
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Promises, NameFilesThatThereAre) {
  static const std::regex file(R"(`((?:tests|tools|docs|cmake)/[\w./-]+)`)");
  const std::string page = text_of(root / "docs/promises.md");
  std::vector<std::string> missing;
  for (const auto& m : matches(page, file))
    if (!fs::exists(root / m.str(1))) missing.push_back(m.str(1));
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Promises, AreTwentyFourInTheirOrder) {
  static const std::regex row(R"(\n## R(\d+)\b)");
  const std::string page = text_of(root / "docs/promises.md");
  const auto rows = matches(page, row);
  ASSERT_THAT(rows, SizeIs(24));
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].str(1), std::to_string(i + 1));
}

TEST(Promises, OfATestThatIsNoneAreSeen) {
  EXPECT_TRUE(is_registered("Promises.NameTestsThatThereAre"));
  EXPECT_TRUE(is_registered("graph on emulated:sm_80"));
  EXPECT_TRUE(is_registered("ptxas of graphs"));
  EXPECT_TRUE(is_registered("tuning database, 2000 killed writers"));
  EXPECT_FALSE(is_registered("Promises.NameTestsThatThereAreNot"));
  EXPECT_FALSE(is_registered("graphs on emulated:sm_80"));
  EXPECT_FALSE(is_registered("drills: nothing"));
  EXPECT_EQ(tests_named_in("`ctest -R 'A\\.b|C'` and `De.e`, `Fe.*`, `tests/x.cpp`"),
            (std::vector<std::string>{"A.b", "C", "De.e", "Fe."}));
}

}  // namespace
}  // namespace tilewright::promises_test
