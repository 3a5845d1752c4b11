// The conditions that tests/conditions names by their text are in the sources: one that was
// rewritten since would be missed only by a command that runs at night.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/source_folder.h"

namespace tilewright::conditions_test {
namespace {

namespace fs = std::filesystem;
const fs::path root = source_folder();

// The text of a file with each stretch of white space as one blank.
std::string words_of(const fs::path& path) {
  std::ifstream in(path);
  std::string text;
  for (std::string word; in >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

void expect_named_conditions_exist(const char* list) {
  auto entries = nlohmann::json::parse(std::ifstream(root / "tests/conditions" / list));
  ASSERT_FALSE(entries.empty());
  std::vector<std::string> missing;
  for (const auto& entry : entries) {
    std::string file = entry.at("file"), was = entry.at("was");
    if (words_of(root / file).find(was) == std::string::npos) missing.push_back(file + ": " + was);
  }
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(Conditions, ThatAreAlwaysChangedAreInTheSources) {
  expect_named_conditions_exist("always.json");
}

TEST(Conditions, ThatWereShownToChangeNothingAreInTheSources) {
  expect_named_conditions_exist("changing_nothing.json");
}

}  // namespace
}  // namespace tilewright::conditions_test
