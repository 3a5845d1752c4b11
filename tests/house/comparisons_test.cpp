// Code asks a target for facts by name, never for its number: a new architecture is a row of
// dsl/target/targets.def.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/source_folder.h"

namespace tilewright::comparisons_test {
namespace {

namespace fs = std::filesystem;

TEST(House, OnlyTheTableOfTargetsKnowsArchitecturesByNumber) {
  static const std::regex compared(R"(\bsm_?\s*(==|!=|<=?|>=?)\s*[0-9])");
  const fs::path root = source_folder();
  std::vector<std::string> wrong;
  int seen = 0;
  for (const char* room : {"runtime", "dsl", "autotune", "graph", "models", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      std::string extension = entry.path().extension();
      std::string path = fs::relative(entry.path(), root).generic_string();
      if ((extension != ".h" && extension != ".cpp") || path.starts_with("dsl/target/")) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line); ++seen)
        if (line.find("sm") != std::string::npos && std::regex_search(line, compared))
          wrong.push_back(path + ": " + line);
    }
  EXPECT_THAT(wrong, testing::IsEmpty());
  EXPECT_GT(seen, 10'000);
}

}  // namespace
}  // namespace tilewright::comparisons_test
