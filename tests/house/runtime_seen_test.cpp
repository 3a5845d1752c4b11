// dsl sees of runtime what the table in dsl/README.md lists, folder by folder, and nothing else.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace tilewright {
namespace {

using testing::IsEmpty;

// What the rows of the table allow: of "ir/text/" {"files/foreign_text.h"}.
using Seen = std::map<std::string, std::set<std::string>>;

Seen table_of_the_page() {
  static const std::regex row(R"(^\| `([a-z_/]+/)` \| ([^|]+) \|)"), name("`([^`]+)`");
  Seen seen;
  bool is_below = false;
  for (const std::string& line : read_source("dsl/README.md").lines) {
    if (line.starts_with("## ")) is_below = line == "## What each folder sees of runtime";
    std::smatch match;
    if (!is_below || !std::regex_search(line, match, row)) continue;
    const std::string names = match[2];
    for (std::sregex_iterator m(names.begin(), names.end(), name), end; m != end; ++m)
      seen[match[1]].insert(m->str(1));
  }
  return seen;
}

// The entry of a row that allows a file of runtime: the file itself or a folder above it.
std::string entry_for(const std::string& file, const std::set<std::string>& entries) {
  for (const std::string& entry : entries)
    if (file == entry || (entry.ends_with('/') && file.starts_with(entry))) return entry;
  return "";
}

TEST(House, EachFolderOfTheLanguageSeesTheListedPartOfTheRuntime) {
  const Seen allowed = table_of_the_page();
  ASSERT_GT(allowed.size(), 3U);
  Seen unused = allowed;
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources()) {
    if (file.room() != "dsl") continue;
    for (const Include& include : includes_of(file)) {
      if (!include.name.starts_with("runtime/") || include.name.starts_with("runtime/base/"))
        continue;
      const std::string seen = include.name.substr(std::string("runtime/").size());
      std::string found;
      for (const auto& [folder, entries] : allowed) {
        if (!found.empty() || !file.path.starts_with("dsl/" + folder)) continue;
        found = entry_for(seen, entries);
        unused[folder].erase(found);
      }
      if (found.empty()) wrong.push_back(at(file, include.line) + include.name);
    }
  }
  for (const auto& [folder, entries] : unused)
    for (const std::string& entry : entries)
      wrong.push_back("dsl/README.md: " + folder + " sees nothing of " + entry);
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace tilewright
