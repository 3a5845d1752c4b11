#include "tools/programs/read_programs.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "dsl/ir/text/text.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

// What a program is read into takes some twenty times as much memory. Pipes are read too: their
// size is known when they end.
constexpr std::size_t most_text_bytes = 8 << 20;

std::string text_of(const std::string& command, const std::string& path) {
  require_use(path == "-" || !std::filesystem::is_directory(path), "[", command, "] \"", path,
              "\" is a folder; name a file of tile IR, or - for standard input");
  std::ifstream file;
  if (path != "-") file.open(path);
  require_use(path == "-" || file.good(), "[", command, "] cannot read \"", path,
              "\"; name a file of tile IR, or - for standard input");
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (char part[1 << 16]; in.read(part, sizeof part), in.gcount() > 0;) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
    require_use(text.size() <= most_text_bytes, "[", command, "] ",
                path == "-" ? "standard input" : path, " has more than ", most_text_bytes,
                " bytes; tile IR is read up to there: give the programs in several files");
  }
  return text;
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
