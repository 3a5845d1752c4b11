// A switch over ops, their kinds or classes names each of them, so that the compiler finds what a
// new one lacks: it has no `default`.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The file's text with spaces for what stands in comments and quotes; lines stay where they are.
std::string code_of(const SourceFile& file) {
  std::string code;
  for (const std::string& line : file.lines) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (quote == 0 && line.compare(i, 2, "//") == 0) break;
      if (quote == 0 && (line[i] == '"' || line[i] == '\'') &&
          !(line[i] == '\'' && i > 0 && std::isdigit(static_cast<unsigned char>(line[i - 1])) != 0))
        quote = line[i];
      else if (quote != 0 && line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = 0;
      else if (quote == 0)
        code += line[i];
    }
    code += '\n';
  }
  return code;
}

// Behind the brace that closes the one at `open`.
std::size_t end_of_block(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '{') ++depth;
    if (code[i] == '}' && --depth == 0) return i + 1;
  }
  return code.size();
}

// The kinds of graph ops, as graph/ir/op.h has them.
const std::set<std::string>& kinds() {
  static const std::set<std::string> names = [] {
    std::set<std::string> found;
    bool is_inside = false;
    for (const std::string& line : read_source("graph/ir/op.h").lines) {
      if (line.starts_with("enum class Kind")) is_inside = true;
      if (line.starts_with("}")) is_inside = false;
      std::smatch match;
      static const std::regex name(R"(^  (\w+),?$)");
      if (is_inside && std::regex_match(line, match, name)) found.insert(match[1]);
    }
    return found;
  }();
  return names;
}

bool is_over_ops(const std::string& body) {
  static const std::regex label(R"(case\s+(?:(?:ir|graph|dsl)::)*(Op|OpClass|Kind)::(\w+)\s*:)");
  for (std::sregex_iterator m(body.begin(), body.end(), label), end; m != end; ++m)
    if (m->str(1) != "Kind" || kinds().contains(m->str(2))) return true;
  return false;
}

// "file:line: " of each switch over ops that has a default of its own.
std::vector<std::string> defaults_over_ops(const SourceFile& file) {
  static const std::regex opening(R"(\bswitch\s*\()"), otherwise(R"(\bdefault\s*:)");
  const std::string code = code_of(file);
  std::vector<std::string> found;
  for (std::sregex_iterator m(code.begin(), code.end(), opening), end; m != end; ++m) {
    const auto start = static_cast<std::size_t>(m->position());
    const std::size_t open = code.find('{', start);
    if (open == std::string::npos) break;
    std::string body = code.substr(open + 1, end_of_block(code, open) - open - 2);
    // What stands in a switch inside is that one's.
    for (std::smatch inner; std::regex_search(body, inner, opening);) {
      const auto from = static_cast<std::size_t>(inner.position());
      const std::size_t brace = body.find('{', from);
      body.erase(from, end_of_block(body, brace) - from);
    }
    if (is_over_ops(body) && std::regex_search(body, otherwise))
      found.push_back(at(file, 1 + static_cast<std::size_t>(std::count(
                                       code.begin(), code.begin() + m->position(), '\n'))));
  }
  return found;
}

TEST(House, NoSwitchOverOpsHasADefault) {
  ASSERT_GT(kinds().size(), 10U);
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources())
    for (std::string& one : defaults_over_ops(file)) wrong.push_back(std::move(one));
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(House, ADefaultOverOpsIsSeen) {
  auto found = [](std::vector<std::string> lines) {
    return defaults_over_ops({"x.cpp", std::move(lines)});
  };
  EXPECT_THAT(
      found({"switch (op) {", "  case ir::Op::add_: return 1;", "  default: return 0;", "}"}),
      ElementsAre("x.cpp:1: "));
  EXPECT_THAT(found({"", "switch (kind) { case Kind::view: break; default: break; }"}),
              ElementsAre("x.cpp:2: "));
  EXPECT_THAT(found({"switch (kind) { case Event::Kind::view: break; default: break; }"}),
              IsEmpty());
  EXPECT_THAT(found({"switch (op) { case Op::add_:", "  switch (c) { case 'x': default: break; }",
                     "  // default: \"in words\"", "}"}),
              IsEmpty());
}

}  // namespace
}  // namespace tilewright
