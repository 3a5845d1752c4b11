// Each lesson of examples/ is listed, is compared with what it prints, and stays short.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/source_folder.h"

namespace tilewright::lessons_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int lesson_lines = 150;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> lessons() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(source_folder() / "examples"))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

TEST(Lessons, AreListedAndTested) {
  const std::string list = text_of(source_folder() / "examples/README.md");
  const std::string tests = text_of(source_folder() / "tests/CMakeLists.txt");
  ASSERT_GE(lessons().size(), 16U);
  for (const fs::path& lesson : lessons()) {
    const std::string name = lesson.filename().string();
    EXPECT_THAT(list, HasSubstr("(" + name + "/main.cpp)"));
    if (name == "00_minimal") continue;  // what tests of the installed library build
    EXPECT_THAT(tests, HasSubstr(name));
    EXPECT_TRUE(fs::exists(lesson / "expected.txt")) << name;
  }
}

TEST(Lessons, BeginWithWhatOneLearnsAndAreShort) {
  for (const fs::path& lesson : lessons()) {
    const std::string name = lesson.filename().string(), text = text_of(lesson / "main.cpp");
    EXPECT_LT(std::ranges::count(text, '\n'), lesson_lines) << name;
    if (name == "00_minimal") continue;
    EXPECT_THAT(text, StartsWith("// Lesson " + std::to_string(std::stoi(name)) + ", "));
    EXPECT_THAT(text, HasSubstr("ou learn "));
  }
}

}  // namespace
}  // namespace tilewright::lessons_test
