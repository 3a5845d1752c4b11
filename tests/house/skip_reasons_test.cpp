// The reasons that tests give for being skipped are those of tests/skips.txt: the list itself is
// looked at after a whole run, which may be the first on a machine that skips that test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"
#include "tests/source_folder.h"

namespace tilewright::skip_reasons_test {
namespace {

using testing::IsEmpty;

// No run of the whole list may give these: the machines that run it have what is named, or a person
// has chosen the cases of one run.
constexpr std::array not_excused = {"needs two CPUs", "no locale can be made here (localedef)",
                                    "there is no ", "TILEWRIGHT_TEST_CASE names no case of "};

std::vector<std::regex> excused() {
  std::ifstream list(source_folder() / "tests/skips.txt");
  std::vector<std::regex> reasons;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t begin = line.find(" | ") + 3;
    reasons.emplace_back(line.substr(begin, line.find(" | ", begin) - begin), std::regex::extended);
  }
  return reasons;
}

TEST(SkipReasons, AreListed) {
  static const std::regex skip(R"re(GTEST_SKIP\(\)\s*<<\s*"([^"]*)")re");
  const std::vector<std::regex> reasons = excused();
  std::vector<std::string> unlisted;
  int seen = 0;
  for (const SourceFile& file : sources()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch found;
      if (!std::regex_search(file.lines[i], found, skip)) continue;
      ++seen;
      // The macro of the tests that are about the host ends with what the test says.
      const std::string reason =
          found.str(1) + (file.ends_with("tests/every_device.h") ? "it" : "");
      const bool is_known =
          std::ranges::any_of(reasons, [&](auto& r) { return std::regex_match(reason, r); }) ||
          std::ranges::any_of(not_excused, [&](auto begin) { return reason.starts_with(begin); });
      if (!is_known) unlisted.push_back(at(file, i + 1) + reason);
    }
  }
  EXPECT_GT(seen, 20) << "the tests are not where they were looked for";
  EXPECT_THAT(unlisted, IsEmpty()) << "a reason to skip a test is not in tests/skips.txt";
}

}  // namespace
}  // namespace tilewright::skip_reasons_test
