#include "tools/programs/read_programs.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "dsl/ir/text/text.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

std::string text_of(const std::string& command, const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path);
  require_use(file.good(), "[", command, "] cannot read \"", path,
              "\"; name a file of tile IR, or - for standard input");
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<ir::Function> read_programs(const std::string& command, const std::string& path) {
  std::string text = text_of(command, path), name = path == "-" ? "standard input" : path;
  std::vector<ir::Function> programs;
  try {
    programs = ir::parse_all(text);
  } catch (const Error& error) {
    throw Misuse(concat("[", command, "] ", name, ": ", error.what()));
  }
  require_use(!programs.empty(), "[", command, "] ", name,
              ": no program is in it; tile IR begins with `func`, as `tilewright explain --dump` "
              "prints it");
  return programs;
}

}  // namespace tilewright::tools
