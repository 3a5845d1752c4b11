// Comments, pages and error messages are in plain English. A few turns of phrase that make
// sentences hard to read are counted in each folder, and english_budget.txt says how many are left
// there. A budget may only fall: a folder above its budget fails, and so does one below it, so that
// the commit that rewrites a sentence also lowers the number.
//
//   TILEWRIGHT_UPDATE_GOLDEN=1 build/release/tests/house_tests --gtest_filter='English.*'
//
// lowers the numbers in the file, and never raises one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "runtime/base/env.h"
#include "tests/house/prose.h"
#include "tests/source_folder.h"

namespace tilewright::english_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

struct Pattern {
  const char* name;
  std::vector<const char*> words;  // a sentence without any of these is not searched
  std::regex form, exceptions;     // exceptions are cut out of a sentence before it is searched
  bool is_of_beginnings;           // only counts where a sentence begins for sure
  const char* advice;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> table = [] {
    const std::regex none("$^");
    const std::string verb = "(?:is|are|was|were|has|have|may|can|must|will|would|does)";
    return std::vector<Pattern>{
        {"clause as a subject",
         {"What "},
         std::regex(R"(^What (?!if\b)[^?]*$)"),
         none,
         true,
         "name the thing: \"Complex inputs are ..\", not \"What is complex and goes in is ..\""},
        {"clause as a subject",
         {"what "},
         std::regex("(?:[;:]|[;:] (?:and|but|so)) what \\S+ \\S[^?;]*? " + verb + " [a-z]"),
         std::regex("what [^;.]*, and (?:why|what|how|when|where)\\b"),
         false,
         "name the thing: \"the rest is ..\", not \"what is left is ..\""},
        {"comment that begins with Of",
         {"Of "},
         std::regex(R"(^Of (?!course\b|these\b|those\b|the \d|\d))"),
         none,
         true,
         "begin with the noun: \"The bits of a ..\", or \"For a loop: ..\""},
        {"comment that begins with Whether",
         {"Whether "},
         std::regex("^Whether "),
         none,
         true,
         "\"True if ..\""},
        {"who of code",
         {"who", "Who"},
         std::regex(R"(\b(?:who|Who|[Ww]hoever|[Ww]hom|Whose)\b)"),
         std::regex("\\b(?:people|person|those|users?|readers?|programmers?|engineers?|authors?|"
                    "callers?|anyone|everyone|someone|nobody|owners?|strangers?),? whom?\\b"),
         false,
         "name the thing, or the person: \"the caller\", \"the warp that ..\""},
        {"anew", {"anew"}, std::regex(R"(\banew\b)"), none, false, "\"again\", \"from scratch\""},
        {"said, told, met",
         {"said", "told", "met"},
         std::regex(
             R"(\b(?:is|are|was|were|be|been|being) (?:(?:not|never|also|then|only|once|often|)"
             R"(always) )?(?:said|told|met)\b)"),
         std::regex(R"(\b(?:condition|requirement|bound|promise)s? (?:is|are) met\b)"),
         false,
         "\"reported\", \"stated\", \"documented\", \"found\", \"visited\""}};
  }();
  return table;
}

struct Finding {
  std::string file;
  Sentence sentence;
  const Pattern* pattern;
};

std::vector<Finding> findings_in(const fs::path& path, const std::string& text) {
  static const std::regex quoted("\"[^\"]*\"|`[^`]*`");
  std::vector<Finding> found;
  for (const Sentence& sentence : sentences_of(path, text))
    for (const Pattern& pattern : patterns()) {
      if (pattern.is_of_beginnings && !sentence.has_beginning) continue;
      if (std::ranges::none_of(pattern.words, [&](const char* word) {
            return sentence.text.find(word) != std::string::npos;
          }))
        continue;
      const std::string prose = std::regex_replace(sentence.text, quoted, "..");
      const std::string searched = std::regex_replace(prose, pattern.exceptions, "..");
      const std::sregex_iterator first(searched.begin(), searched.end(), pattern.form), end;
      for (auto hits = std::distance(first, end); hits > 0; --hits)
        found.push_back({path.generic_string(), sentence, &pattern});
    }
  return found;
}

// "graph/lower" for graph/lower/attention/blocks.h, "docs" for docs/design.md, "." for README.md.
std::string folder_of(const fs::path& file) {
  fs::path folder;
  int depth = 0;
  for (const fs::path& part : file.parent_path())
    if (depth++ < 2) folder /= part;
  return folder.empty() ? "." : folder.generic_string();
}

std::vector<Finding> findings_of_tree() {
  std::vector<Finding> all;
  const fs::path root = source_folder();
  auto read = [&](const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const fs::path file = path.lexically_relative(root);
    for (Finding& finding : findings_in(file, text.str())) all.push_back(std::move(finding));
  };
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_regular_file()) read(entry.path());
  for (const char* folder : {"autotune", "cmake", "docs", "dsl", "examples", "graph", "include",
                             "models", "runtime", "tests", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file()) read(entry.path());
  std::ranges::sort(all, {},
                    [](const Finding& one) { return std::pair(one.file, one.sentence.line); });
  return all;
}

const fs::path budget_file = source_folder() / "tests/house/english_budget.txt";

std::map<std::string, int> budgets() {
  std::map<std::string, int> budgets;
  std::ifstream in(budget_file);
  std::string folder;
  for (int count = 0; in >> folder >> count;) budgets[folder] = count;
  return budgets;
}

std::string lines_of(const std::vector<Finding>& findings, const std::string& folder) {
  std::ostringstream lines;
  for (const auto& [file, sentence, pattern] : findings)
    if (folder_of(file) == folder)
      lines << file << ':' << sentence.line << ": " << pattern->name << " (" << pattern->advice
            << "): " << sentence.text << '\n';
  return lines.str();
}

TEST(English, IsAsPlainAsTheBudgetOfEachFolderSays) {
  const std::vector<Finding> findings = findings_of_tree();
  std::map<std::string, int> allowed = budgets(), counts;
  for (const Finding& one : findings) ++counts[folder_of(one.file)];
  for (const auto& [folder, count] : allowed) counts.try_emplace(folder, 0);
  for (const auto& [folder, count] : counts)
    EXPECT_LE(count, allowed[folder]) << "reword sentences of " << folder << ":\n"
                                      << lines_of(findings, folder);
  if (env::update_golden()) {
    std::ofstream out(budget_file);
    for (const auto& [folder, count] : counts)
      if (int lowered = std::min(count, allowed[folder]); lowered > 0)
        out << folder << ' ' << lowered << '\n';
    return;
  }
  for (const auto& [folder, count] : counts)
    EXPECT_GE(count, allowed[folder])
        << folder << " reads better than its budget: write \"" << folder << ' ' << count
        << "\" in tests/house/english_budget.txt (or remove the line if it is 0)";
}

std::vector<std::string> names_in(const char* path, const std::string& text) {
  std::vector<std::string> names;
  for (const Finding& finding : findings_in(path, text)) names.emplace_back(finding.pattern->name);
  return names;
}

TEST(English, SubjectsThatAreClausesAreFound) {
  EXPECT_THAT(names_in("a.h", "// What is complex and goes in is a tensor.\n"),
              ElementsAre("clause as a subject"));
  EXPECT_THAT(names_in("a.md", "It reads all; what is left of it is read\nlater.\n"),
              ElementsAre("clause as a subject"));
  EXPECT_THAT(names_in("a.h", "// What if it is empty?\n// It says what it does.\n"), IsEmpty());
}

TEST(English, CommentsThatBeginWithOfOrWhetherAreFound) {
  EXPECT_THAT(names_in("a.h", "int x;  // Of a loop: its bound.\n"),
              ElementsAre("comment that begins with Of"));
  EXPECT_THAT(names_in("a.py", "# Whether\n# it is one.\n"),
              ElementsAre("comment that begins with Whether"));
  EXPECT_THAT(names_in("a.h", "// Of course, or of 2, whether it is.\n"), IsEmpty());
}

TEST(English, WordsOfPeopleForCodeAreFound) {
  EXPECT_THAT(names_in("a.cmake", "# Who reads it waits.\n"), ElementsAre("who of code"));
  EXPECT_THAT(names_in("a.h", "// For people who read it, and a list whose end is known.\n"),
              IsEmpty());
}

TEST(English, PassivesOfSpeechAndAnewAreFound) {
  EXPECT_THAT(names_in("a.h", "// The reason is told, and never is it said anew.\n"),
              ElementsAre("anew", "said, told, met"));
  EXPECT_THAT(names_in("a.h", "// Where the conditions are met.\n"), IsEmpty());
}

TEST(English, IsReadFromMessagesButNotFromCodeOrTests) {
  const std::string message = "require(a, \"[op] what is left is told to you\", b);\n";
  EXPECT_THAT(names_in("graph/a.cpp", message), ElementsAre("said, told, met"));
  EXPECT_THAT(names_in("graph/a.cpp", "f(\"[op] What is left is read\");  // x\n"),
              ElementsAre("clause as a subject"));
  EXPECT_THAT(names_in("tests/a.cpp", message), IsEmpty());
  EXPECT_THAT(names_in("a.md", "```\nWho is told anew.\n```\n<!-- Who -->\n## Who\n"), IsEmpty());
  EXPECT_THAT(names_in("a.h", "//   Who is told anew.\n"), IsEmpty());
  EXPECT_THAT(names_in("a.md", "Never write \"anew\" or `who`.\n"), IsEmpty());
}

TEST(English, SentencesKnowTheirLines) {
  EXPECT_EQ(sentences_of("a.h", "// One of\n// two. Another\n// one.\nint x;\n"),
            (std::vector<Sentence>{{"One of two.", 1}, {"Another one.", 2}}));
  EXPECT_EQ(
      sentences_of("a.md", "* an item,\n  still it\n* next\n| cell | other |\n"),
      (std::vector<Sentence>{{"an item, still it", 1}, {"next", 3}, {"cell", 4}, {"other", 4}}));
}

}  // namespace
}  // namespace tilewright::english_test
