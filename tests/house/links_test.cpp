// Links of documents lead to files and folders of this tree, and to headings of its pages. Links
// out of it, to https://..., are not followed.
#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::links_test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

// The lines of a page that are no blocks of code.
std::vector<std::pair<int, std::string>> lines_of(const fs::path& path) {
  std::vector<std::pair<int, std::string>> lines;
  std::ifstream in(path);
  bool is_code = false;
  int number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code) lines.emplace_back(number + 1, line);
  }
  return lines;
}

// As GitHub names a heading: "What it cannot do" is what-it-cannot-do.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (char c : heading)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      anchor += '-';
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  for (const auto& [number, line] : lines_of(page))
    if (auto text = line.find_first_not_of('#'); text != 0 && text != line.npos)
      anchors.insert(anchor_of(line.substr(line.find_first_not_of(' ', text))));
  return anchors;
}

// "page.md:12: target" of each that leads nowhere.
std::vector<std::string> dead_links(const fs::path& page) {
  static const std::regex link(R"(\]\(([^)\s]+)\))"), outside(R"(^[a-z]+:)");
  std::vector<std::string> dead;
  for (const auto& [number, line] : lines_of(page))
    for (std::sregex_iterator m(line.begin(), line.end(), link), end; m != end; ++m) {
      const std::string target = m->str(1);
      if (std::regex_search(target, outside)) continue;
      const std::size_t hash = target.find('#');
      const std::string file = target.substr(0, hash);
      const fs::path to = file.empty() ? page : page.parent_path() / file;
      const bool is_there = fs::exists(to) && (hash == target.npos ||
                                               anchors_of(to).contains(target.substr(hash + 1)));
      if (!is_there)
        dead.push_back(fs::relative(page, source_folder()).generic_string() + ":" +
                       std::to_string(number) + ": " + target);
    }
  return dead;
}

TEST(Links, OfAllDocumentsLeadSomewhere) {
  std::vector<std::string> dead;
  for (const fs::path& page : documents())
    for (std::string& one : dead_links(page)) dead.push_back(std::move(one));
  EXPECT_THAT(dead, IsEmpty());
}

TEST(Links, ThatLeadNowhereAreSeen) {
  ScratchFolder folder;
  const fs::path page = folder.path() / "page.md";
  std::ofstream(page) << "# A page, and more\n[a](page.md) [b](#a-page-and-more) [c](none.md)\n"
                         "[d](page.md#no-heading) [e](https://example.org)\n"
                         "```\n[f](in_code.md)\n```\n";
  std::vector<std::string> dead = dead_links(page);
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_THAT(dead[0], testing::EndsWith("page.md:2: none.md"));
  EXPECT_THAT(dead[1], testing::EndsWith("page.md:3: page.md#no-heading"));
}

}  // namespace
}  // namespace tilewright::links_test
