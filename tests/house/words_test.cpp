// One word for one idea: names of types that were once given to many things are given once.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace tilewright {
namespace {

using testing::Contains;
using testing::IsEmpty;

// By name, the files that define a struct or class of that name.
std::map<std::string, std::vector<std::string>> definitions(const std::vector<std::string>& names) {
  static const std::regex form(R"(^\s*(?:struct|class)\s+(\w+)\b[^;]*$)");
  std::map<std::string, std::vector<std::string>> found;
  for (const SourceFile& file : sources())
    for (const std::string& line : file.lines)
      if (std::smatch match; std::regex_search(line, match, form) &&
                             std::ranges::find(names, match[1].str()) != names.end())
        found[match[1]].push_back(file.path);
  return found;
}

// What else has the name. The list only gets shorter: a file that no longer defines it is taken
// out.
const std::map<std::string, std::vector<std::string>> others = {
    {"Call",
     {"graph/compile/calls/call.h", "graph/tensor/eager.cpp", "models/exported/aten/call.h",
      "models/onnx/program/call.h"}}};

TEST(House, WordsOfManyMeaningsAreDefinedOnce) {
  const std::vector<std::string> names = {"Call", "Place", "Site", "Step"};
  std::map<std::string, std::vector<std::string>> found = definitions(names);
  EXPECT_THAT(found["Call"], Contains("dsl/emulator/call_site.h"));
  std::vector<std::string> wrong;
  for (const auto& [name, files] : others)
    for (const std::string& file : files)
      if (std::erase(found[name], file) == 0)
        wrong.push_back(file + " defines no " + name + " any more: take it off the list");
  for (const auto& [name, files] : found)
    if (files.size() > 1)
      for (const std::string& file : files) wrong.push_back(file + " defines " + name);
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace tilewright
